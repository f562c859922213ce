// What follows the last turn: an answer that failed, and messages that wait for their turn.

import { h, icon, textButton } from "./dom.js";
import { visible } from "./words.js";

/** The cards below the conversation, as elements. */
export function extras(view, data) {
  return [
    data.trouble ? trouble(view, data) : null,
    ...(data.queue ?? []).map((item) => queued(view, item, data.readonly)),
  ].filter(Boolean);
}

function trouble(view, { trouble: what, tip, readonly }) {
  const retry = () => view.act({ action: "retry", run: what.run });
  const without = () => view.act({ action: "without", run: what.run });
  const goOn = () => view.act({ action: "continue", node: tip });
  const sent = () => view.act({ action: "sent", run: what.run });
  return h(
    "div",
    { class: "card trouble", role: "alert", "data-run": what.run },
    icon("alert"),
    h(
      "div",
      { class: "card-words" },
      h("div", { class: "strong", dir: "auto", text: what.message }),
      what.hint ? h("div", { class: "muted", dir: "auto", text: what.hint }) : null,
      readonly
        ? null
        : h(
            "div",
            { class: "card-bar" },
            what.refused
              ? textButton(`Turn off ${what.refused} and retry`, without, {
                  class: "button primary",
                })
              : null,
            textButton("Retry", retry, { class: what.refused ? "button" : "button primary" }),
            what.can_continue ? textButton("Continue", goOn) : null,
            textButton("What was sent", sent),
          ),
    ),
  );
}

function queued(view, item, readonly) {
  const held = item.state === "held";
  return h(
    "div",
    {
      class: "card queued",
      role: "group",
      "aria-label": "Queued message",
      "data-queue-id": item.id,
    },
    icon("clock"),
    h(
      "div",
      { class: "card-words plain", dir: "auto" },
      h("span", { class: "muted", text: held ? "Held: " : "Queued: " }),
      visible([item.text, ...(item.files ?? []).map((name) => `[${name}]`)].join(" ").trim()),
    ),
    readonly
      ? null
      : h(
          "div",
          { class: "card-bar" },
          held
            ? textButton("Send now", () => view.act({ action: "send_queued", id: item.id }), {
                class: "button primary",
              })
            : null,
          textButton("Take back", () => view.act({ action: "unqueue", id: item.id })),
        ),
  );
}

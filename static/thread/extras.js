// What follows the last turn: an answer that failed, and messages that wait for their turn.

import { h, icon, textButton } from "./dom.js";
import { openMenu } from "./menu.js";
import { queueCards } from "./queue.js";
import { strayCard } from "./recap.js";

/** The cards below the conversation, as elements. */
export function extras(view, data) {
  return [
    strayCard(view, data),
    data.trouble ? trouble(view, data) : null,
    ...queueCards(view, data),
  ].filter(Boolean);
}

/** What helps where the conversation is more than the model's window holds. */
function tooLong(view, { run, larger }) {
  const choose = (event) => {
    const items = larger.map(({ provider, model, label, window: holds }) => ({
      label,
      name: `Retry with ${label}`,
      detail: `${holds.toLocaleString("en-US")} tokens`,
      run: () => view.act({ action: "retry_larger", run, provider, model }),
    }));
    openMenu(view.layer, event.currentTarget, "Retry with", items);
  };
  const menu = { "aria-haspopup": "menu", "aria-expanded": "false" };
  return [
    textButton("Recap first", () => view.act({ action: "recap" })),
    textButton("Send only the last turns", () => view.act({ action: "retry_last", run })),
    larger.length ? textButton("A larger window", choose, menu) : null,
  ];
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
            ...(what.larger ? tooLong(view, what) : []),
            what.can_continue ? textButton("Continue", goOn) : null,
            textButton("What was sent", sent),
          ),
    ),
  );
}

// Where a recap cuts the conversation: a line with its words and acts, and what it covers, dimmed.

import { h, icon, replaceKeepingFocus } from "./dom.js";
import { counted } from "./words.js";

/** The line below the last message that a recap covers. */
export class RecapLine {
  #view;
  #signature = "";

  constructor(view) {
    this.#view = view;
    this.words = h("span", { class: "recap-words" });
    this.acts = h("span", { class: "recap-acts" });
    this.element = h(
      "div",
      { class: "recap-line", role: "group", "aria-label": "Recap" },
      icon("recap"),
      this.words,
      this.acts,
    );
  }

  /** Bring it up to date; without a recap on what is shown it leaves the page. */
  update(recap, readonly) {
    if (!recap) {
      this.element.remove();
      return;
    }
    const signature = JSON.stringify([recap, readonly]);
    if (signature === this.#signature) return;
    this.#signature = signature;
    this.element.classList.toggle("off", !recap.active || !recap.applies);
    this.words.textContent = told(recap);
    replaceKeepingFocus(this.acts, ...this.#acts(recap, readonly));
  }

  #acts({ id, active, versions }, readonly) {
    const act = (label, key, action) =>
      h("button", {
        type: "button",
        class: "link",
        "data-key": key,
        text: label,
        onclick: () => this.#view.act({ action, recap: id }),
      });
    const look = act(versions > 1 ? `view ${versions} versions` : "view", "view", "recap_view");
    if (readonly) return [look];
    const turn = active
      ? act("switch off", "switch", "recap_off")
      : act("switch on", "switch", "recap_on");
    return [look, act("edit", "edit", "recap_edit"), turn];
  }
}

function told({ active, applies, messages, by_itself: itself, version, versions }) {
  const above = messages === 1 ? "message" : counted(messages, "message");
  const which = [itself ? "written by itself" : "", versions > 1 ? `version ${version}` : ""];
  const more = which.filter(Boolean).join(", ");
  const own = more ? ` (${more})` : "";
  if (!active) return `A recap of the ${above} above${own} is switched off`;
  if (!applies) return `A recap of the ${above} above${own} applies from the next message on`;
  return `A recap${own} stands in for the ${above} above`;
}

/** The card for a recap that is active on the branch and covers nothing of what is shown. */
export function strayCard(view, { recap, readonly }) {
  if (!recap?.active || recap.at) return null;
  const words = "This branch has a recap that does not apply here: what it covers is not part of " +
    "what is shown.";
  const off = h("button", {
    type: "button",
    class: "button",
    text: "Switch off",
    onclick: () => view.act({ action: "recap_off" }),
  });
  return h(
    "div",
    { class: "card", role: "group", "aria-label": "Recap" },
    icon("recap"),
    h("div", { class: "card-words", text: words }),
    readonly ? null : h("div", { class: "card-bar" }, off),
  );
}

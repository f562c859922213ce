// Beside the chat input: what is to be said now, and chips that put words into the input or
// ask something beside the conversation. Nothing is sent by a chip.

import { h } from "../thread/dom.js";

const REWRITE = {
  kind: "ask",
  label: "Rewrite",
  action: "rewrite",
  about: "Rewrite your draft as one instruction",
};

const SEVERAL = {
  kind: "ask",
  label: "Several models",
  action: "fan",
  about: "Send your draft to several models, each on a branch of its own",
};
const OF_THE_DRAFT = [REWRITE, SEVERAL];

export class Chips {
  #drawn = "";
  #told = "";

  /** `act` sends to the page, `box()` is the input, `put(words, at)` puts words into it,
   *  `say(words)` tells why something cannot be done. */
  constructor(parent, { act, box, put, say }) {
    Object.assign(this, { act, box, put, say });
    this.notices = h("div", { class: "notices", role: "status", "aria-label": "Notices" });
    this.row = h("div", { class: "chips", role: "toolbar", "aria-label": "Refine", hidden: true });
    this.row.addEventListener("keydown", (event) => this.#move(event));
    parent.prepend(this.notices, this.row);
  }

  destroy() {
    this.notices.remove();
    this.row.remove();
  }

  update({ chips = [], notices = [] }) {
    const wanted = JSON.stringify(chips);
    const told = JSON.stringify(notices);
    if (wanted !== this.#drawn) this.#draw(chips);
    if (told !== this.#told) this.#tell(notices);
    this.#drawn = wanted;
    this.#told = told;
  }

  #draw(chips) {
    const focused = this.row.getRootNode().activeElement?.dataset.label;
    const pieces = [];
    let kind = null;
    for (const chip of chips.length ? [...OF_THE_DRAFT, ...chips] : []) {
      if (kind && (kind !== chip.kind || pieces.length === OF_THE_DRAFT.length))
        pieces.push(h("span", { class: "gap", "aria-hidden": "true" }));
      kind = chip.kind;
      pieces.push(this.#chip(chip));
    }
    this.row.replaceChildren(...pieces);
    this.row.hidden = !pieces.length;
    const again = this.#buttons().find((button) => button.dataset.label === focused);
    this.#reach(again ?? this.#buttons()[0]);
    again?.focus({ preventScroll: true });
  }

  #chip(chip) {
    const { label, text, action, about, kind } = chip;
    const props = { type: "button", title: about ?? text, "data-label": label, "data-kind": kind };
    const press = () => (text === undefined ? this.#ask(action) : this.#insert(text));
    return h("button", { ...props, tabindex: -1, onclick: press }, label);
  }

  #ask(action) {
    const text = this.box()?.value ?? "";
    if (action === "fan") return this.act({ action, text });
    if (action !== "rewrite") return this.act({ action });
    if (!text.trim()) return this.say("Write a draft first; then it can be rewritten.");
    return this.act({ action, text });
  }

  /** A sentence of its own at the caret, its first [slot] selected to be written over. A slot
   *  that still waits stays: then it comes at the end. */
  #insert(words) {
    const box = this.box();
    if (!box) return;
    const chosen = box.value.slice(box.selectionStart, box.selectionEnd);
    const at = /^\[[^\]]*\]$/.test(chosen) ? box.value.length : box.selectionEnd;
    const apart = at && !/\s/.test(box.value[at - 1]) ? " " : "";
    this.put(apart + words, at);
    const slot = /\[[^\]]+\]/.exec(words);
    const start = at + apart.length + (slot?.index ?? 0);
    if (slot) box.setSelectionRange(start, start + slot[0].length);
  }

  #tell(notices) {
    const lines = notices.map(({ text, level, acts }) =>
      h(
        "div",
        { class: `notice ${level}` },
        h("span", { text }),
        acts.map(({ label, act, about }) =>
          h("button", { type: "button", title: about, onclick: () => this.act(act) }, label),
        ),
      ),
    );
    this.notices.replaceChildren(...lines);
  }

  // --- one stop for Tab, arrows within ---

  #buttons() {
    return [...this.row.querySelectorAll("button")];
  }

  #reach(button) {
    for (const one of this.#buttons()) one.tabIndex = one === button ? 0 : -1;
  }

  #move(event) {
    const buttons = this.#buttons();
    const at = buttons.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = buttons[(to + buttons.length) % buttons.length];
    this.#reach(next);
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

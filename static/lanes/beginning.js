// What all lanes have in common: told once, folded, and the message that they all answer.

import { loadBodies } from "../thread/bodies.js";
import { h } from "../thread/dom.js";
import { counted } from "../thread/words.js";
import { Message } from "./message.js";
import { arrange } from "./order.js";

export class Beginning {
  #messages = new Map(); // by node
  #told = null;
  #asked = null;

  constructor(board) {
    this.board = board;
    this.summary = h("summary", {});
    this.list = h("div", { class: "beginning" });
    this.fold = h("details", { class: "fold common" }, this.summary, this.list);
    this.fold.addEventListener("toggle", () => this.#open());
    this.folded = h("div", { class: "span" }, h("div", { class: "in-view" }, this.fold));
    this.question = h("div", { class: "in-view" });
    this.asked = h("div", { class: "span question" }, this.question);
  }

  get elements() {
    const { messages, asked } = this.#told;
    return [messages ? this.folded : null, asked ? this.asked : null].filter(Boolean);
  }

  reset() {
    this.#messages.clear();
    this.#asked = null;
    this.question.replaceChildren();
    this.list.replaceChildren();
    this.fold.open = false;
  }

  update(told) {
    this.#told = told;
    this.summary.textContent = `Common beginning \u00b7 ${counted(told.turns, "turn")}, ${counted(told.messages, "message")}`;
    if (told.asked && told.asked.id !== this.#asked?.turn.id) {
      this.#asked = new Message(this.board, told.asked);
      this.question.replaceChildren(this.#asked.article);
    }
    this.#asked?.fill();
    if (this.fold.open) this.#open();
  }

  fill() {
    this.#asked?.fill();
    for (const message of this.#messages.values()) message.fill();
  }

  async #open() {
    if (!this.fold.open) return;
    const { entries, messages } = this.#told;
    const ids = entries.map(({ id }) => id);
    await loadBodies(ids, this.board.data.token).catch(() => null);
    for (const entry of entries) {
      if (!this.#messages.has(entry.id))
        this.#messages.set(entry.id, new Message(this.board, entry));
    }
    const left = messages - entries.length;
    const note = h("div", { class: "note", hidden: !left });
    if (left) note.textContent = `${counted(left, "message")} before these: open a lane to read them.`;
    arrange(this.list, [note, ...ids.map((id) => this.#messages.get(id).article)]);
    this.fill();
  }
}

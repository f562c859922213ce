// Where there is room for one lane only: tabs to choose it, and a swipe to the next.

import { h } from "../thread/dom.js";

const FAR = 60; // px that make a swipe

export class Tabs {
  #chosen = null;
  #from = null;
  #signature = "";

  constructor(board) {
    this.board = board;
    this.element = h("div", { class: "tabs", role: "tablist", "aria-label": "Lanes" });
    board.scroller.addEventListener("touchstart", (event) => this.#touch(event), { passive: true });
    board.scroller.addEventListener("touchend", (event) => this.#release(event), { passive: true });
    this.element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      this.#step(step);
      this.element.querySelector('[aria-selected="true"]')?.focus();
    });
  }

  update(lanes) {
    if (!lanes.some(({ id }) => id === this.#chosen)) this.#chosen = lanes[0]?.id ?? null;
    const told = lanes.map(({ id, name }) => {
      const lane = this.board.lanes.get(id);
      return { id, name, running: Boolean(lane?.stoppable()) };
    });
    const signature = JSON.stringify([told, this.#chosen]);
    if (signature !== this.#signature) {
      this.#signature = signature;
      this.element.replaceChildren(
        ...told.map(({ id, name, running }) =>
          h(
            "button",
            {
              type: "button",
              class: `tab${running ? " running" : ""}`,
              role: "tab",
              "aria-selected": String(id === this.#chosen),
              tabindex: id === this.#chosen ? 0 : -1,
              onclick: () => this.#choose(id),
            },
            name,
          ),
        ),
      );
    }
    this.#mark();
  }

  #choose(id) {
    this.#chosen = id;
    this.update(this.board.data.lanes);
    const tab = this.element.querySelector('[aria-selected="true"]');
    tab?.scrollIntoView({ inline: "center", block: "nearest" });
  }

  #mark() {
    for (const part of this.board.grid.querySelectorAll(":scope > .lane-part"))
      part.classList.toggle("chosen", part.dataset.lane === this.#chosen);
  }

  #step(by) {
    const ids = this.board.data.lanes.map(({ id }) => id);
    const next = ids[ids.indexOf(this.#chosen) + by];
    if (next) this.#choose(next);
  }

  #touch({ touches, target }) {
    const sideways = target.closest?.(".scroll");
    this.#from = touches.length === 1 && !sideways ? touches[0] : null;
  }

  #release({ changedTouches }) {
    if (!this.#from || !this.board.narrow) return;
    const x = changedTouches[0].clientX - this.#from.clientX;
    const y = changedTouches[0].clientY - this.#from.clientY;
    this.#from = null;
    if (Math.abs(x) > FAR && Math.abs(x) > 2 * Math.abs(y)) this.#step(x < 0 ? 1 : -1);
  }
}

// Which turn has the keyboard: one at a time takes part in the Tab order, the one last used.

import { turnKey } from "./actions.js";

export class Focus {
  #current = null;
  #expected = null; // {node, key}: where the focus goes after switching versions

  /** `turnOf(article)` finds the turn of an article, `stop()` stops the live answer. */
  constructor({ root, list, layer, turnOf, stop }) {
    Object.assign(this, { list, layer, turnOf });
    const onescape = (event) => {
      if (this.#stops(event) && stop()) event.preventDefault();
    };
    root.addEventListener("keydown", (event) => this.#key(event));
    root.addEventListener("focusin", (event) => this.rove(event.target.closest("article")));
    document.addEventListener("keydown", onescape);
    this.destroy = () => document.removeEventListener("keydown", onescape);
  }

  /** Let Tab lead to this turn and its buttons, and past those of all others. */
  rove(article) {
    if (!article || article === this.#current || !this.list.contains(article)) return;
    this.#tabbable(this.#current, -1);
    this.#tabbable(article, 0);
    this.#current = article;
  }

  /** Give a turn the focus. */
  take(article) {
    this.rove(article);
    article.focus({ preventScroll: true });
  }

  /** Go `step` turns on from an article. */
  move(article, step) {
    const articles = [...this.list.querySelectorAll(":scope > article")];
    const next = articles[articles.indexOf(article) + step];
    if (!next) return;
    this.take(next);
    next.scrollIntoView({ block: "nearest" });
  }

  /** The turns were drawn: new buttons of this turn join the Tab order; without one, `last` does. */
  settle(last) {
    if (this.#current?.isConnected) this.#tabbable(this.#current, 0);
    else {
      this.#current = null;
      this.rove(last);
    }
  }

  /** The focus shall follow to this node once it is drawn, to the same control. */
  expect(node) {
    this.#expected = { node, key: this.list.getRootNode().activeElement?.dataset.key };
  }

  /** If the expected node is there, give it the focus. */
  arrive() {
    const { node, key } = this.#expected ?? {};
    const article = node && this.list.querySelector(`[data-node-id="${node}"]`);
    if (!article) return;
    this.#expected = null;
    this.rove(article);
    const control = key && article.querySelector(`.links [data-key="${key}"]:enabled`);
    (control || article).focus({ preventScroll: true });
  }

  #tabbable(article, tabindex) {
    if (!article) return;
    article.tabIndex = tabindex;
    for (const button of article.querySelectorAll(".foot button")) button.tabIndex = tabindex;
  }

  #key(event) {
    const article = event.target.closest?.("article");
    if (!article || event.defaultPrevented) return;
    const turn = this.turnOf(article);
    if (turn ? !turnKey(event, turn) : !this.#liveKey(event, article)) return;
    event.preventDefault();
    event.stopPropagation(); // r and c mean other things to the page around us
  }

  /** The live answer has no acts of its own, but one can leave it upwards. */
  #liveKey(event, article) {
    if (event.key !== "k" && !(event.altKey && event.key === "ArrowUp")) return false;
    this.move(article, -1);
    return true;
  }

  /** Whether Escape means the live answer: nothing nearer to close, nothing being typed. */
  #stops(event) {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return false;
    if (this.layer.querySelector(":popover-open") || document.querySelector('[role="dialog"]'))
      return false;
    const typing = event.composedPath()[0].closest?.("input, textarea, select, [contenteditable]");
    return !typing || typing.value === "";
  }
}

// A settled message within a lane: the thread's own turn, to be read and not to be changed.

import { Turn } from "../thread/turn.js";
import { loadBodies } from "../thread/bodies.js";

const near = new IntersectionObserver(
  (seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      waiting.get(target)?.();
    }
  },
  { rootMargin: "1200px" },
);
const waiting = new WeakMap();

export class Message {
  /** `lane` is the id of the lane it stands in, for acts; none in what all share. */
  constructor(board, entry, lane) {
    this.board = board;
    this.lane = lane;
    this.turn = new Turn(this, entry);
    this.#reach();
    this.#veil();
    if (this.turn.drawn) return;
    waiting.set(this.article, () => this.#load());
    near.observe(this.article);
  }

  get article() {
    return this.turn.article;
  }

  update(entry) {
    this.turn.update(entry, false);
    this.#reach();
    this.fill();
  }

  /** Draw the words, if they have come. */
  fill() {
    if (this.turn.drawn || !this.turn.body) return;
    this.turn.draw();
    this.#veil();
  }

  /** In a blind look nothing stays that only some models show. */
  #veil() {
    if (!this.board.data.blind) return;
    for (const part of this.article.querySelectorAll(".fold.thinking")) part.remove();
  }

  /** Take over the words of the live answer, already on the screen. */
  adopt(box) {
    this.turn.adopt(box);
  }

  remove() {
    near.unobserve(this.article);
    this.article.remove();
  }

  /** Every button is reached by Tab: there is no list of turns to walk through here. */
  #reach() {
    for (const button of this.article.querySelectorAll(".foot button")) button.tabIndex = 0;
  }

  #load() {
    loadBodies([this.turn.id], this.data.token).then(
      () => this.fill(),
      () => setTimeout(() => near.observe(this.article), 2000),
    );
  }

  // --- what a turn asks of the view that it stands in ----------------------------------

  get data() {
    return { token: this.board.data.token, readonly: true, models: [] };
  }

  get layer() {
    return this.board.layer;
  }

  scroll = { hold: (_, change) => change() };

  act(act) {
    this.board.act({ ...act, lane: this.lane });
  }

  announce(words) {
    this.board.announce(words);
  }
}

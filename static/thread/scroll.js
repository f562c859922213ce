// Where the person is in the conversation, and staying there.
//
// Two promises: at the bottom the newest words stay in view; anywhere else nothing that
// loads, streams or is swapped moves what is being read.

const NEAR = 48; // px from the end that still count as "at the bottom"

function scrollerOf(element) {
  let node = element;
  while (node) {
    node = node.parentElement ?? node.getRootNode().host ?? null;
    if (!node || node === document.body) break;
    if (/(auto|scroll|overlay)/.test(getComputedStyle(node).overflowY)) return node;
  }
  return document.scrollingElement;
}

/**
 * Be the only script that scrolls `element`. Where the page has a chat input, Streamlit pulls
 * its main area to the end whenever it grows, even while somebody scrolls up through a
 * growing answer. Writes to the property are ignored; `write` of the returned object works,
 * and so does every scroll by hand, by key or into view.
 */
function take(element) {
  const native = Object.getOwnPropertyDescriptor(Element.prototype, "scrollTop");
  Object.defineProperty(element, "scrollTop", {
    configurable: true,
    get: () => native.get.call(element),
    set: () => {},
  });
  return {
    write: (value) => native.set.call(element, value),
    free: () => delete element.scrollTop,
  };
}

export class Scroll {
  /** Whether the newest words are to be kept in view. */
  stick = true;
  #top = 0;
  #until = 0; // growth is followed until then
  #holds = 0; // only the newest hold may finish

  constructor(root, { onmove }) {
    this.root = root;
    this.element = scrollerOf(root);
    this.hand = take(this.element);
    this.onmove = onmove;
    const target = this.element === document.scrollingElement ? window : this.element;
    this.#listen(target);
    this.observer = new ResizeObserver(() => this.#grown());
    this.observer.observe(root);
  }

  #listen(target) {
    const onscroll = () => {
      const top = this.element.scrollTop;
      // A move up lets go at once, be it ever so small; a move down to the end holds on again.
      if (top < this.#top - 1 && this.gap() > 2) this.stick = false;
      else if (top > this.#top && this.gap() <= NEAR) this.stick = true;
      this.#top = top;
      this.onmove();
    };
    // the wheel says that somebody wants to leave before the position does
    const onwheel = (event) => {
      if (event.deltaY < 0 && this.element.scrollTop > 0) this.release();
    };
    target.addEventListener("scroll", onscroll, { passive: true });
    target.addEventListener("wheel", onwheel, { passive: true });
    this.destroy = () => {
      target.removeEventListener("scroll", onscroll);
      target.removeEventListener("wheel", onwheel);
      this.observer.disconnect();
      this.hand.free();
    };
  }

  /** Pixels between the end of the view and the end of the conversation. */
  gap() {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    return scrollHeight - scrollTop - clientHeight;
  }

  /** Go to the end and stay there while the page is still growing. */
  toBottom() {
    this.stick = true;
    this.#holds += 1;
    this.#until = performance.now() + 1500;
    this.follow();
  }

  /** Stop following the end. */
  release() {
    this.stick = false;
    this.#until = 0;
    this.#holds += 1;
  }

  /** Keep the end in view, if that is where the person is. */
  follow() {
    if (!this.stick) return;
    this.hand.write(this.element.scrollHeight);
    this.#top = this.element.scrollTop;
  }

  #grown() {
    if (performance.now() < this.#until) this.follow();
    this.onmove();
  }

  /** Change something and keep `element` exactly where it is on the screen. */
  hold(element, change) {
    const before = element.getBoundingClientRect().top;
    const wasStuck = this.stick;
    this.release();
    const hold = ++this.#holds;
    const result = change();
    this.#restore(element, before);
    // Off-screen turns get their true height only when drawn, one frame later.
    requestAnimationFrame(() => {
      if (hold !== this.#holds) return;
      this.#restore(element, before);
      this.stick = wasStuck && this.gap() <= NEAR;
      this.onmove();
    });
    return result;
  }

  /** Scroll by some pixels. */
  move(pixels) {
    this.hand.write(this.element.scrollTop + pixels);
    this.#top = this.element.scrollTop;
  }

  #restore(element, before) {
    if (!element.isConnected) return;
    const moved = element.getBoundingClientRect().top - before;
    if (Math.abs(moved) >= 1) this.move(moved);
    this.#top = this.element.scrollTop;
  }

  /** The first of `elements` (in order on the page) whose end is below the top of the view. */
  firstVisible(elements) {
    const edge =
      this.element === document.scrollingElement ? 0 : this.element.getBoundingClientRect().top;
    let low = 0;
    let high = elements.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (elements[middle].getBoundingClientRect().bottom > edge + 60) high = middle;
      else low = middle + 1;
    }
    return elements[Math.min(low, elements.length - 1)];
  }

  /** Bring an element into view, if it is not there already. */
  show(element) {
    this.release();
    const hold = this.#holds;
    const go = (frames) => {
      if (hold !== this.#holds || !element.isConnected) return;
      const { top, bottom } = element.getBoundingClientRect();
      if (top >= 60 && bottom <= window.innerHeight - 120) return;
      const tall = bottom - top > window.innerHeight - 220;
      element.scrollIntoView({ block: tall ? "start" : "center", behavior: "instant" });
      // neighbours that were never drawn have their true height only now
      if (frames > 0) requestAnimationFrame(() => go(frames - 1));
    };
    go(3);
  }
}

// Turns above the window: loaded page by page as they come near, put in place without moving
// what is being read, and looked up when a link, a search or the tree points at one of them.

import { loadBodies, olderPage } from "./bodies.js";

const NEAR = 800; // px above the view at which the next page is fetched
const AGAIN = 2000; // ms until missing bodies are tried again
const AROUND = 10; // turns on both sides of a target that are drawn before going there

export class History {
  #view;
  #loading = null;
  #target = null;

  constructor(view) {
    this.#view = view;
    const { scroll, sentinel } = view;
    const root = scroll.element === document.scrollingElement ? document : scroll.element;
    const pages = new IntersectionObserver(
      (seen) => seen.some(({ isIntersecting }) => isIntersecting) && this.#older(),
      { root, rootMargin: `${NEAR}px 0px` },
    );
    pages.observe(sentinel);
    const bodies = new IntersectionObserver((seen) => this.#near(seen), {
      root,
      rootMargin: `${NEAR}px 0px`,
    });
    this.want = (article) => bodies.observe(article);
    this.leave = (article) => bodies.unobserve(article);
    this.destroy = () => {
      pages.disconnect();
      bodies.disconnect();
    };
  }

  /** After new data was drawn: go where it points, renew what an act may have changed. */
  follow({ focus, session_id: session }) {
    if (session !== this.session) this.#target = null;
    this.session = session;
    if (focus !== this.#target) this.#goTo(focus);
    const { lineage } = this.#view;
    if (lineage.stale && lineage.older()) this.#renew();
    else lineage.stale = false;
  }

  /** Load one page of older turns, if there is one and none is on its way. */
  #older({ bodies = true } = {}) {
    if (!this.#view.lineage.more || !this.#view.lineage.entries.length) return null;
    this.#loading ??= this.#fetch(bodies)
      .catch(() => this.#view.announce("Earlier turns could not be loaded"))
      .finally(() => (this.#loading = null));
    return this.#loading;
  }

  async #fetch(bodies) {
    const view = this.#view;
    const { lineage, sentinel } = view;
    const { tip, token } = view.data;
    const before = lineage.entries[0].id;
    const page = await olderPage(tip, before, token);
    if (bodies)
      await loadBodies(
        page.entries.map(({ id }) => id),
        token,
      ).catch(() => null);
    if (lineage !== view.lineage || lineage.entries[0]?.id !== before) return;
    this.#hold(() => {
      lineage.prepend(page);
      view.drawTurns();
      sentinel.hidden = !lineage.more;
    });
    // Still in sight: the observer only tells about changes.
    const near = sentinel.getBoundingClientRect().bottom > -NEAR;
    if (bodies && near && lineage.more) setTimeout(() => this.#older(), 50);
  }

  /** Change what is above, and keep the first turn in view where it is. */
  #hold(change) {
    const { scroll, list } = this.#view;
    scroll.hold(scroll.firstVisible([...list.children]), change);
  }

  /** Ask again about turns above the window, whose marks an act may have changed. */
  async #renew() {
    const view = this.#view;
    const { lineage } = view;
    const { tip, token, entries } = view.data;
    lineage.stale = false;
    let before = entries[0]?.id;
    let left = lineage.older();
    while (left > 0 && before) {
      const page = await olderPage(tip, before, token).catch(() => null);
      if (!page?.entries.length || lineage !== view.lineage || tip !== view.data.tip) return;
      lineage.renew(page.entries);
      for (const entry of page.entries) view.turns.get(entry.id)?.update(entry, false);
      before = page.entries[0].id;
      left -= page.entries.length;
    }
  }

  /** Turns without a body came near: fetch and draw them. */
  #near(seen) {
    const view = this.#view;
    const articles = seen
      .filter(({ isIntersecting }) => isIntersecting)
      .map(({ target }) => target);
    articles.forEach(this.leave);
    const turns = articles.map((article) => view.turns.get(article.dataset.nodeId)).filter(Boolean);
    const missing = turns.filter((turn) => !turn.drawn);
    if (!missing.length) return;
    loadBodies(
      missing.map(({ id }) => id),
      view.data.token,
    ).then(
      () => this.#hold(() => missing.forEach((turn) => turn.drawn || turn.draw())),
      () => setTimeout(() => missing.forEach((turn) => this.want(turn.article)), AGAIN),
    );
  }

  /** Go to a node, loading what lies between, and show which one it is. */
  async #goTo(node) {
    const view = this.#view;
    this.#target = node;
    if (!node) return;
    while (!view.turns.has(node) && view.lineage.more && this.#target === node) {
      const { length } = view.lineage.entries;
      await this.#older({ bodies: false });
      if (view.lineage.entries.length === length) return;
    }
    const { entries } = view.lineage;
    const at = entries.findIndex(({ id }) => id === node);
    if (at < 0) return;
    const around = entries.slice(Math.max(0, at - AROUND), at + AROUND).map(({ id }) => id);
    await loadBodies(around, view.data.token).catch(() => null);
    const turn = view.turns.get(node);
    if (!turn || this.#target !== node) return;
    for (const id of around) {
      const one = view.turns.get(id);
      if (one?.body && !one.drawn) one.draw();
    }
    view.scroll.show(turn.article);
    view.focus.rove(turn.article);
    turn.flash();
  }
}

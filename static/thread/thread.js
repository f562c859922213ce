// The conversation: keeps the turns on the page in step with what the page says is shown,
// and the live answer in step with the connection.

import { tick, toClipboard } from "./actions.js";
import { body, loadBodies } from "./bodies.js";
import { h, icon, replaceKeepingFocus } from "./dom.js";
import { extras } from "./extras.js";
import { Focus } from "./focus.js";
import { History } from "./history.js";
import { Lineage } from "./lineage.js";
import { live } from "./live.js";
import { RecapLine } from "./recap.js";
import { Refresh } from "./refresh.js";
import { Scroll } from "./scroll.js";
import { watchSelection } from "./selection.js";
import { LiveTurn } from "./stream.js";
import { Turn } from "./turn.js";

/** Purposes whose words belong into the conversation; titles and judges do not. */
const ANSWERS = new Set(["reply", "continue", "consolidate", "fuse"]);
/** After these acts the person wants to see what comes, not what they looked at. */
const FORWARD = new Set(["edit", "regenerate", "retry", "continue", "send_queued", "queue_resume", "retry_last", "retry_larger"]);
const BODY_PATIENCE = 1500; // ms a drawing waits for bodies; then they follow

export class Thread {
  data = null;
  #component = null;
  lineage = new Lineage();
  turns = new Map();
  #live = null; // the LiveTurn on the page
  #seen = 0; // counts updates, so that only the newest is drawn
  #acts = 0;
  #lastAct = null;
  #drawn = false;

  constructor(parent) {
    this.parent = parent;
    const note = h("span", { class: "muted", text: "Loading earlier turns\u2026" });
    this.sentinel = h("div", { class: "older", hidden: true }, note);
    this.list = h("div", { class: "turns", role: "feed", "aria-label": "Conversation" });
    this.extras = h("div", { class: "extras" });
    this.status = h("div", { class: "sr-only", role: "status" });
    this.layer = h("div", { class: "layer" });
    this.recap = new RecapLine(this);
    this.pill = h(
      "button",
      { type: "button", class: "pill", hidden: true, onclick: () => this.scroll.toBottom() },
      icon("latest"),
      "Jump to latest",
    );
    const pill = h("div", { class: "pill-box" }, this.pill);
    const { sentinel, list, extras: cards, status, layer } = this;
    this.root = h("div", { class: "thread" }, sentinel, list, cards, pill, status, layer);
    parent.append(this.root);
    this.scroll = new Scroll(this.root, { onmove: () => this.#drawPill() });
    this.history = new History(this);
    this.refresh = new Refresh({
      needed: (message) => this.#behind(message),
      insist: (message) => message.run !== undefined && message.run === this.#live?.run.run,
      send: () => this.#send({ action: "refresh" }),
    });
    this.focus = new Focus({
      root: this.root,
      list: this.list,
      layer: this.layer,
      turnOf: (article) => this.turns.get(article.dataset.nodeId),
      stop: () => this.#live?.stop(),
    });
    this.#wire();
  }

  destroy() {
    for (const end of this.ends) end();
    this.#live?.destroy();
    this.scroll.destroy();
    this.refresh.destroy();
    this.root.remove();
  }

  #wire() {
    this.root.addEventListener("click", (event) => this.#copyCode(event));
    this.ends = [
      live.listen((message) => this.#hear(message)),
      () => this.focus.destroy(),
      () => this.history.destroy(),
      watchSelection({
        root: this.parent,
        layer: this.layer,
        act: (act) => this.act(act),
        readonly: () => this.data?.readonly ?? true,
      }),
    ];
  }

  // --- to the page ---------------------------------------------------------------------

  /** Something the person did. */
  act(act) {
    this.#lastAct = act.action;
    this.refresh.acted();
    if (!["compose", "stop", "sent"].includes(act.action)) this.lineage.stale = true;
    this.#send(act);
  }

  #send(act) {
    this.#acts += 1;
    this.#component.setTriggerValue("act", { ...act, n: Date.now() * 1000 + (this.#acts % 1000) });
  }

  /** Draw anew what follows the last turn. */
  redrawExtras() {
    replaceKeepingFocus(this.extras, extras(this, this.data));
  }

  /** Say something to a screen reader. */
  announce(words) {
    this.status.textContent = "";
    requestAnimationFrame(() => (this.status.textContent = words));
  }

  /** Show another version of a turn; the focus follows. */
  see(node) {
    this.focus.expect(node);
    this.act({ action: "view", node });
  }

  // --- from the page -------------------------------------------------------------------

  /** New data from the page, or the same again. */
  async update(component) {
    this.#component = component;
    const { data } = component;
    const seen = ++this.#seen;
    if (data.session_id !== this.data?.session_id) this.#reset();
    this.data = data;
    this.refresh.answered();
    live.follow(data.session_id, data.token);
    const named = data.live && live.runs.get(data.live.run);
    if (named) named.named = true;
    // It may have ended between the page's look and the first word from the connection.
    if (data.live && live.isOver(data.live.run)) this.refresh.ask({ type: "hello" });
    const missing = data.entries.map(({ id }) => id).filter((id) => !body(id));
    if (missing.length) {
      const patience = new Promise((done) => setTimeout(done, BODY_PATIENCE));
      await Promise.race([loadBodies(missing, data.token).catch(() => null), patience]);
    }
    if (seen === this.#seen) this.#draw();
  }

  #reset() {
    this.#live?.destroy();
    this.#live?.article.remove();
    this.#live = null;
    for (const turn of this.turns.values()) turn.article.remove();
    this.turns.clear();
    this.lineage = new Lineage();
    this.#drawn = false;
  }

  #draw() {
    const { data } = this;
    const first = !this.#drawn;
    const step = this.lineage.take(data);
    this.#drawn = true;
    const anchor = first ? null : this.#anchor(step);
    const change = () => {
      this.drawTurns();
      this.#drawLive();
      this.redrawExtras();
    };
    const forward = step.sent || (step.turned && FORWARD.has(this.#lastAct));
    if (first || forward) change();
    else if (this.scroll.stick && !step.turned) change();
    else if (anchor) this.#holdAt(anchor, change);
    else change();
    if (first || forward) this.scroll.toBottom();
    else this.scroll.follow();
    if (step.turned || step.sent) this.#lastAct = null;
    this.sentinel.hidden = !this.lineage.more;
    this.focus.arrive();
    this.#drawPill();
    this.history.follow(data);
  }

  /** The turn whose place on the screen is kept: where versions part, or the first in view. */
  #anchor({ turned, common }) {
    const turns = this.lineage.drawn.map((id) => this.turns.get(id)).filter(Boolean);
    if (!turns.length) return null;
    const visible = this.scroll.firstVisible(turns.map((turn) => turn.article));
    const index = turns.findIndex((turn) => turn.article === visible);
    // Past the point of parting nothing will be left of what is in view.
    const at = turned && index > common ? common : index;
    return { index: at, article: turns[Math.min(at, turns.length - 1)].article };
  }

  #holdAt({ index, article }, change) {
    const top = article.getBoundingClientRect().top;
    this.scroll.hold(article, change);
    if (article.isConnected) return;
    const { entries } = this.lineage;
    const stand = this.turns.get(entries[Math.min(index, entries.length - 1)]?.id);
    if (!stand) return;
    this.scroll.move(stand.article.getBoundingClientRect().top - top);
  }

  drawTurns() {
    const { entries } = this.lineage;
    const ids = new Set(entries.map(({ id }) => id));
    for (const [id, turn] of this.turns) {
      if (ids.has(id)) continue;
      turn.remove();
      this.turns.delete(id);
    }
    const { recap, readonly } = this.data;
    const cut = recap?.at ? entries.findIndex(({ id }) => id === recap.at) : -1;
    this.recap.update(cut < 0 ? null : recap, readonly);
    let previous = null;
    entries.forEach((entry, index) => {
      const turn = this.#turn(entry, index === entries.length - 1);
      const next = previous ? previous.nextSibling : this.list.firstChild;
      if (next !== turn.article) this.list.insertBefore(turn.article, next);
      previous = turn.article;
      turn.cover(index <= cut && recap.active && recap.applies);
      if (index !== cut) return;
      if (previous.nextSibling !== this.recap.element) previous.after(this.recap.element);
      previous = this.recap.element;
    });
    for (const turn of this.turns.values()) turn.recall();
    this.lineage.drawn = entries.map(({ id }) => id);
    this.focus.settle(this.turns.get(this.lineage.drawn.at(-1))?.article ?? null);
  }

  #turn(entry, last) {
    let turn = this.turns.get(entry.id);
    if (!turn) {
      turn = new Turn(this, entry);
      this.turns.set(entry.id, turn);
      if (!turn.drawn) this.history.want(turn.article);
      if (this.#live && this.#isNodeOf(this.#live.run, entry)) this.#swap(turn);
    } else if (!turn.drawn && turn.body) turn.draw();
    turn.update(entry, last);
    return turn;
  }

  // --- the live answer -----------------------------------------------------------------

  #hear(message) {
    if (!this.data) return;
    const run = live.runs.get(message.run);
    if (this.#live && run?.run === this.#live.run.run) this.#live.update(run);
    else if (message.type === "hello" || message.type === "started") this.#drawLive();
    if (message.type === "changed") this.lineage.stale = true;
    if (message.type === "ended" && run) {
      this.announce(run.purpose === "auto_recap" ? "The recap is written" : "The answer is complete");
    }
    const news = ["hello", "started", "ended", "changed", "stranger"];
    if (news.includes(message.type)) this.refresh.ask(message);
  }

  #isNodeOf(run, entry) {
    return entry.run?.id === run.run || (run.ended?.node && run.ended.node === entry.id);
  }

  /** The run whose words belong at the end of what is shown, or null. */
  #current() {
    const { data } = this;
    const unheard = { ...data.live, text: "", thinking: "", since: null };
    const found =
      (data.live && (live.runs.get(data.live.run) ?? unheard)) ??
      [...live.runs.values()].findLast(
        (run) =>
          ANSWERS.has(run.purpose ?? "reply") &&
          !(run.ended && run.named) && // the page knows its end, and shows it elsewhere
          run.context_tip === data.tip &&
          (!run.branch || !data.branch_id || run.branch === data.branch_id),
      );
    if (!found || data.trouble?.run === found.run) return null;
    return this.lineage.entries.some((entry) => this.#isNodeOf(found, entry)) ? null : found;
  }

  #drawLive() {
    const run = this.#current();
    if (this.#live && this.#live.run.run !== run?.run) {
      // shown as a node, as trouble, or no longer part of this view
      if (this.#live.run.ended) live.forget(this.#live.run.run);
      this.#live.destroy();
      this.#live.article.remove();
      this.#live = null;
    }
    if (!run) return;
    if (this.#live) this.#live.update(run);
    else {
      this.#live = new LiveTurn(this, run);
      this.announce("Answering");
    }
    if (this.list.lastChild !== this.#live.article) this.list.append(this.#live.article);
    this.scroll.follow();
  }

  /** Put the settled turn where the live one was, with the very same words. */
  #swap(turn) {
    const focused = this.#live.article.contains(this.parent.activeElement);
    turn.adopt(this.#live.finish());
    this.#live.article.replaceWith(turn.article);
    live.forget(this.#live.run.run);
    this.#live = null;
    if (focused) this.focus.take(turn.article);
  }

  /** Whether the page does not know yet what a message says. */
  #behind({ type, run, node, tips }) {
    const { data } = this;
    if (type === "started") return data.live?.run !== run && live.runs.has(run);
    if (type === "ended") {
      const settled = data.entries.some((entry) => entry.run?.id === run || entry.id === node);
      return !settled && data.trouble?.run !== run;
    }
    if (type !== "hello") return true;
    // Between the page's look and the connection's first word an answer may have come.
    const moved = tips && (tips[data.branch_id] ?? null) !== (data.branch_tip ?? null);
    if (data.live) return live.isOver(data.live.run);
    return Boolean(moved) || this.#current() !== null;
  }

  /** The number of the last turn that is shown. */
  lastTurnNumber() {
    return this.lineage.entries.at(-1)?.turn;
  }

  // --- small things --------------------------------------------------------------------

  #copyCode(event) {
    const button = event.target.closest('[data-copy="code"]');
    if (!button) return;
    toClipboard(button.closest(".code").querySelector("pre").textContent);
    tick(button, "copy");
    this.announce("Copied");
  }

  #drawPill() {
    const far = !this.scroll.stick && this.scroll.gap() > 240;
    this.pill.hidden = !far;
    if (!far) return;
    const composer = document.querySelector('[data-testid="stBottom"]')?.offsetHeight ?? 0;
    this.root.style.setProperty("--below", `${composer}px`);
  }
}

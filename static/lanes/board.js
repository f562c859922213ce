// Lanes side by side: one grid in one scrolling box, so that turns which stand in a row stay
// beside each other however one scrolls. On a narrow screen one lane at a time.

import { tick, toClipboard } from "../thread/actions.js";
import { loadBodies } from "../thread/bodies.js";
import { h } from "../thread/dom.js";
import { live } from "../thread/live.js";
import { Refresh } from "../thread/refresh.js";
import { Beginning } from "./beginning.js";
import { FollowUp } from "./follow_up.js";
import { Lane } from "./lane.js";
import { Message } from "./message.js";
import { arrange } from "./order.js";
import { Tabs } from "./tabs.js";

const PATIENCE = 1500; // ms the first drawing waits for bodies; then they follow
const NEAR = 48; // px from the end that still count as "at the end"
const LEAST = 320; // px of the scrolling box
const DIALOG = 500; // ms between two looks whether a dialog is still open

export class Board {
  data = null;
  lanes = new Map(); // by id
  #rows = new Map(); // key -> the message that all of a row ask
  #component = null;
  #acts = 0;
  #seen = 0;
  #stick = false; // whether the newest words are to be kept in view
  #forward = false; // something was sent: go where it will appear
  #last = null; // the number of the last row
  #drawn = false;

  constructor(parent) {
    this.parent = parent;
    this.layer = h("div", { class: "layer" });
    this.status = h("div", { class: "sr-only", role: "status" });
    this.beginning = new Beginning(this);
    this.earlier = h(
      "div",
      { class: "span earlier", hidden: true },
      h("button", {
        type: "button",
        class: "button",
        onclick: () => this.act({ action: "earlier" }),
      }),
    );
    this.grid = h("div", { class: "grid" });
    this.scroller = h(
      "div",
      { class: "scroller", tabindex: 0, role: "region", "aria-label": "Lanes side by side" },
      this.grid,
    );
    this.tabs = new Tabs(this);
    this.follow = new FollowUp(this);
    const { tabs, scroller, follow, status, layer } = this;
    this.root = h(
      "div",
      { class: "thread board" },
      tabs.element,
      scroller,
      follow.element,
      status,
      layer,
    );
    parent.append(this.root);
    this.refresh = new Refresh({
      needed: (message) => this.#behind(message),
      insist: (message) => this.#drawnRun(message.run),
      send: () => this.#send({ action: "refresh" }),
    });
    this.#wire();
  }

  #wire() {
    const fit = () => this.#fit();
    const grown = new ResizeObserver(() => this.#follow());
    grown.observe(this.grid);
    const around = new ResizeObserver(fit);
    around.observe(this.follow.element);
    around.observe(document.body);
    window.addEventListener("resize", fit);
    this.scroller.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.scroller;
      this.#stick = this.#stick && scrollHeight - scrollTop - clientHeight < NEAR;
    });
    this.scroller.addEventListener("wheel", ({ deltaY }) => {
      if (deltaY < 0) this.#stick = false;
    });
    this.root.addEventListener("click", (event) => this.#copyCode(event));
    const deafen = live.listen((message) => this.#hear(message));
    this.ends = [
      deafen,
      () => grown.disconnect(),
      () => around.disconnect(),
      () => window.removeEventListener("resize", fit),
    ];
  }

  destroy() {
    for (const end of this.ends) end();
    for (const lane of this.lanes.values()) lane.destroy();
    this.refresh.destroy();
    this.root.remove();
  }

  // --- to the page ---------------------------------------------------------------------

  /** Something the person did; returns its number. */
  act(act) {
    this.refresh.acted();
    if (act.action === "follow_up") this.#forward = true;
    return this.#send(act);
  }

  #send(act) {
    this.#acts += 1;
    const n = Date.now() * 1000 + (this.#acts % 1000);
    this.#component.setTriggerValue("act", { ...act, n });
    return n;
  }

  /** Say something to a screen reader. */
  announce(words) {
    this.status.textContent = "";
    requestAnimationFrame(() => (this.status.textContent = words));
  }

  // --- from the page -------------------------------------------------------------------

  async update(component) {
    this.#component = component;
    const { data } = component;
    const seen = ++this.#seen;
    const other = data.comparison_id !== this.data?.comparison_id;
    if (other || data.blind !== this.data.blind) this.#reset(); // what was shown may tell names
    this.data = data;
    this.refresh.answered();
    live.follow(data.session_id, data.token);
    for (const { live: run } of data.lanes) {
      const named = run && live.runs.get(run.run);
      if (named) named.named = true;
      // It may have ended between the page's look and the first word from the connection.
      if (run && live.isOver(run.run)) this.refresh.ask({ type: "hello" });
    }
    const ids = this.#firstSeen(data);
    const coming = loadBodies(ids, data.token).catch(() => null);
    await Promise.race([coming, new Promise((done) => setTimeout(done, PATIENCE))]);
    if (seen !== this.#seen) return;
    this.#draw();
    coming.then(() => seen === this.#seen && this.#fill());
  }

  /** The messages that are on the screen first. */
  #firstSeen({ rows, beginning }) {
    const entries = rows
      .slice(-3)
      .flatMap(({ asked, cells }) => [asked, ...cells.flatMap((cell) => cell?.entries ?? [])]);
    return [beginning.asked, ...entries].filter(Boolean).map(({ id }) => id);
  }

  #reset() {
    for (const lane of this.lanes.values()) lane.destroy();
    this.lanes.clear();
    this.#rows.clear();
    this.grid.replaceChildren();
    this.beginning.reset();
    this.#drawn = false;
    this.#last = null;
  }

  #draw() {
    const { data } = this;
    const first = !this.#drawn;
    const last = data.rows.at(-1)?.key;
    const more = this.#last !== null && last > this.#last;
    this.#last = last;
    this.#drawn = true;
    this.#drawLanes();
    this.root.classList.toggle("blind", data.blind);
    this.grid.style.setProperty("--lanes", data.lanes.length);
    const shown = data.lanes.map(({ id }) => this.lanes.get(id));
    this.beginning.update(data.beginning);
    this.earlier.hidden = !data.earlier;
    this.earlier.firstChild.textContent = `Show earlier turns (${data.earlier})`;
    shown.forEach((lane, place) => lane.stand(place === 0));
    arrange(this.grid, [
      ...shown.map((lane) => lane.head),
      ...shown.map((lane) => lane.facts),
      ...this.beginning.elements,
      this.earlier,
      ...data.rows.flatMap((row) => this.#row(row, shown)),
    ]);
    this.tabs.update(data.lanes);
    this.follow.update(data);
    this.#fit();
    if (first) requestAnimationFrame(() => this.#toLastTurn());
    else if (more && this.#forward) this.#toEnd();
    if (more) this.#forward = false;
  }

  #drawLanes() {
    const { data } = this;
    const there = new Set(data.lanes.map(({ id }) => id));
    for (const [id, lane] of this.lanes) {
      if (there.has(id)) continue;
      lane.destroy();
      this.lanes.delete(id);
    }
    data.lanes.forEach((told, place) => {
      if (!this.lanes.has(told.id)) this.lanes.set(told.id, new Lane(this, told));
      const cells = data.rows.map((row) => ({ key: row.key, told: row.cells[place] }));
      this.lanes.get(told.id).update(told, cells);
    });
  }

  /** What a row consists of: the question, where all ask the same, then a cell for each lane. */
  #row(row, shown) {
    const cells = shown.map((lane) => lane.cell(row.key));
    if (!row.asked) return cells;
    let question = this.#rows.get(row.key);
    if (question?.id !== row.asked.id) {
      question = { id: row.asked.id, message: new Message(this, row.asked) };
      question.note = h("span", { class: "muted" });
      question.element = h(
        "div",
        { class: "span question" },
        h("div", { class: "in-view" }, question.message.article, question.note),
      );
      this.#rows.set(row.key, question);
    }
    question.message.update(row.asked);
    const some = row.among < shown.length;
    question.note.hidden = !some;
    question.note.textContent = some ? `in ${row.among} of ${shown.length} lanes` : "";
    return [question.element, ...cells];
  }

  /** Bodies came after the drawing. */
  #fill() {
    this.beginning.fill();
    for (const { message } of this.#rows.values()) message.fill();
    for (const lane of this.lanes.values()) lane.fill();
  }

  // --- scrolling -----------------------------------------------------------------------

  /** Whether one lane is shown at a time, and the page scrolls. */
  get narrow() {
    return getComputedStyle(this.tabs.element).display !== "none";
  }

  /** The box takes what the screen has left, so that the field stays where it is. */
  #fit() {
    if (!this.root.isConnected) return;
    const page = this.root.getRootNode().host?.closest('[data-testid="stMain"]');
    const top = this.scroller.getBoundingClientRect().top + (page?.scrollTop ?? 0);
    const room = window.innerHeight - top - this.follow.element.offsetHeight - 24;
    const height = `${Math.round(Math.max(LEAST, room))}px`;
    if (this.root.style.getPropertyValue("--room") !== height)
      this.root.style.setProperty("--room", height);
    const width = `${this.scroller.clientWidth}px`;
    if (this.root.style.getPropertyValue("--view") !== width)
      this.root.style.setProperty("--view", width);
  }

  #follow() {
    if (this.#stick && !this.narrow) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  #toEnd() {
    this.#stick = true;
    this.#follow();
  }

  /** Begin where the last turn begins; of a single one, at the top. */
  #toLastTurn() {
    const { rows } = this.data;
    if (this.narrow || rows.length < 2) return;
    const { key } = rows.at(-1);
    const row = this.#rows.get(key)?.element ?? [...this.lanes.values()][0]?.cell(key);
    const head = [...this.lanes.values()][0]?.head;
    if (!row?.isConnected) return;
    const offset = row.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
    this.scroller.scrollTop += offset - (head?.offsetHeight ?? 0) - 8;
  }

  // --- the connection ------------------------------------------------------------------

  /** The lane that a run belongs to. */
  #laneOf(branch) {
    return [...this.lanes.values()].find(({ told }) => told.branch_id === branch);
  }

  #hear(message) {
    if (!this.data) return;
    for (const lane of this.lanes.values()) lane.hear(message);
    if (message.type !== "delta") {
      this.tabs.update(this.data.lanes);
      this.follow.draw();
    }
    const run = live.runs.get(message.run);
    if (message.type === "ended" && this.#laneOf(run?.branch)) this.announce("An answer is complete");
    const news = ["hello", "started", "ended", "changed", "stranger"];
    if (news.includes(message.type)) this.#later(message);
  }

  /** A look at the page would close a dialog over it: what lies behind can wait. */
  #later(message) {
    if (!document.querySelector('[role="dialog"]')) this.refresh.ask(message);
    else setTimeout(() => this.root.isConnected && this.#later(message), DIALOG);
  }

  #drawnRun(run) {
    return run !== undefined && [...this.lanes.values()].some((lane) => lane.run?.run === run);
  }

  /** Whether the page does not know yet what a message says. */
  #behind({ type, run, node, tips }) {
    const lanes = [...this.lanes.values()];
    if (type === "started") {
      const lane = this.#laneOf(live.runs.get(run)?.branch);
      return Boolean(lane) && lane.told.live?.run !== run;
    }
    if (type === "ended") {
      const lane = this.#laneOf(live.runs.get(run)?.branch);
      return !lane || (!lane.knows(run, node) && lane.told.trouble?.run !== run);
    }
    if (type !== "hello") return true;
    return lanes.some(({ told, run: drawn }) => {
      if (told.live) return live.isOver(told.live.run);
      const moved = tips && (tips[told.branch_id] ?? null) !== (told.tip ?? null);
      return Boolean(moved) || Boolean(drawn);
    });
  }

  // --- small things --------------------------------------------------------------------

  #copyCode(event) {
    const button = event.target.closest('[data-copy="code"]');
    if (!button) return;
    toClipboard(button.closest(".code").querySelector("pre").textContent);
    tick(button, "copy");
    this.announce("Copied");
  }
}

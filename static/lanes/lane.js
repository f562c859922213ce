// One lane: its head, its facts, and a cell in every row.

import { h, icon, replaceKeepingFocus, textButton } from "../thread/dom.js";
import { live } from "../thread/live.js";
import { LiveTurn } from "../thread/stream.js";
import { FINISH } from "../thread/words.js";
import { Head } from "./head.js";
import { Message } from "./message.js";
import { arrange } from "./order.js";

const ANSWERS = new Set(["reply", "continue", "auto_recap"]);

export class Lane {
  #cells = new Map(); // key of a row -> {element, extras, messages, label}
  #live = null; // the LiveTurn on the page
  #known = new Set(); // nodes and runs that are shown
  #turn = 1;
  #slot = null; // the key of the row in which the lane goes on

  constructor(board, told) {
    this.board = board;
    this.told = told;
    this.header = new Head(this);
    this.head = this.header.element;
    this.facts = this.header.facts;
    this.hidden = h("div", { class: "muted hidden-answer", text: "Answering\u2026" });
  }

  destroy() {
    this.#live?.destroy();
    this.header.destroy();
    for (const { element } of this.#cells.values()) element.remove();
    this.head.remove();
    this.facts.remove();
  }

  /** The run that is drawn as it streams, or null. */
  get run() {
    return this.#live?.run ?? null;
  }

  /** Whether it is being answered. */
  get running() {
    return Boolean(this.#current());
  }

  /** Whether the page shows what a run made. */
  knows(run, node) {
    return this.#known.has(run) || (node != null && this.#known.has(node));
  }

  cell(key) {
    return this.#cells.get(key).element;
  }

  /** Whether it is the leftmost. */
  stand(first) {
    const cells = [...this.#cells.values()].map(({ element }) => element);
    for (const part of [this.head, this.facts, ...cells]) part.classList.toggle("first", first);
  }

  update(told, cells) {
    this.told = told;
    const entries = cells.flatMap(({ told: cell }) => cell?.entries ?? []);
    this.#known = new Set(entries.flatMap(({ id, run }) => [id, run?.id]).filter(Boolean));
    const here = cells.findLast(({ told: cell }) => cell) ?? cells.at(-1);
    this.#slot = here?.key ?? null;
    this.#turn = here?.told?.turn ?? 1;
    this.#dropCells(new Set(cells.map(({ key }) => key)));
    for (const { key, told: cell } of cells) this.#drawCell(key, cell);
    this.#drawLive();
    this.header.update(told);
  }

  #dropCells(keys) {
    for (const [key, { element }] of this.#cells) {
      if (keys.has(key)) continue;
      element.remove();
      this.#cells.delete(key);
    }
  }

  // --- cells ---------------------------------------------------------------------------

  #drawCell(key, told) {
    const cell = this.#cells.get(key) ?? this.#newCell(key);
    const { name } = this.told;
    const label = told ? `Lane ${name}, turn ${told.turn}` : `Lane ${name}, nothing in this turn`;
    if (cell.label !== label) cell.element.setAttribute("aria-label", (cell.label = label));
    cell.element.classList.toggle("empty", !told);
    const messages = (told?.entries ?? []).map((entry) => {
      const message = cell.messages.get(entry.id) ?? this.#message(cell, entry);
      message.update(entry);
      return message;
    });
    const ids = new Set((told?.entries ?? []).map(({ id }) => id));
    for (const id of cell.messages.keys()) if (!ids.has(id)) cell.messages.delete(id);
    cell.shown = messages.map(({ article }) => article);
    this.#order(cell, key);
  }

  #newCell(key) {
    const extras = h("div", { class: "cell-extras" });
    const element = h("div", { class: "cell lane-part", role: "group", "data-lane": this.told.id });
    const cell = { element, extras, messages: new Map(), label: "", shown: [] };
    this.#cells.set(key, cell);
    return cell;
  }

  #message(cell, entry) {
    const message = new Message(this.board, entry, this.told.id);
    const run = this.#live?.run;
    const same = run && (entry.run?.id === run.run || run.ended?.node === entry.id);
    if (same && message.turn.body) {
      message.adopt(this.#live.finish());
      this.#live.article.replaceWith(message.article);
      live.forget(run.run);
      this.#live = null;
    }
    cell.messages.set(entry.id, message);
    return message;
  }

  #order(cell, key) {
    const goesOn = key === this.#slot;
    const now = goesOn && this.#current() ? [this.#live?.article ?? this.hidden] : [];
    const extras = goesOn ? this.#extras() : [];
    replaceKeepingFocus(cell.extras, extras);
    const nothing = !cell.shown.length && !now.length && !extras.length;
    cell.nothing ??= h("div", { class: "nothing", text: "\u2013", title: "Not asked in this lane" });
    arrange(cell.element, [
      ...cell.shown,
      ...now,
      ...(extras.length ? [cell.extras] : []),
      ...(nothing ? [cell.nothing] : []),
    ]);
  }

  fill() {
    for (const { messages } of this.#cells.values()) for (const one of messages.values()) one.fill();
  }

  // --- the live answer -----------------------------------------------------------------

  hear(message) {
    const run = live.runs.get(message.run);
    if (this.#live && run?.run === this.#live.run.run) {
      this.#live.update(run);
      if (message.type === "ended") this.header.update(this.told);
    } else if (["hello", "started", "ended"].includes(message.type)) {
      this.#drawLive();
      this.header.update(this.told);
    }
  }

  /** The run whose words belong at the end of this lane, or null. */
  #current() {
    const { told } = this;
    const unheard = { ...told.live, text: "", thinking: "", since: null };
    const found =
      (told.live && (live.runs.get(told.live.run) ?? unheard)) ??
      [...live.runs.values()].findLast(
        (run) =>
          ANSWERS.has(run.purpose ?? "reply") &&
          !(run.ended && run.named) && // the page knows its end, and shows it elsewhere
          run.branch === told.branch_id &&
          run.context_tip === told.tip,
      );
    if (!found || told.trouble?.run === found.run) return null;
    return this.knows(found.run, found.ended?.node) ? null : found;
  }

  /** Words come to be seen only when the look is not blind: their pace would tell who speaks. */
  #drawLive() {
    const run = this.#current();
    const shown = run && !this.board.data.blind ? run : null;
    if (this.#live && this.#live.run.run !== shown?.run) {
      if (this.#live.run.ended) live.forget(this.#live.run.run);
      this.#live.destroy();
      this.#live.article.remove();
      this.#live = null;
    }
    if (shown && this.#live) this.#live.update(shown);
    else if (shown) this.#live = new LiveTurn(this.#viewOfLive(), shown);
    const cell = this.#cells.get(this.#slot);
    if (cell) this.#order(cell, this.#slot);
  }

  #viewOfLive() {
    const lane = this;
    return {
      get data() {
        return { live: lane.told.live };
      },
      act: (act) => lane.board.act({ ...act, lane: lane.told.id }),
      lastTurnNumber: () => lane.#turn,
      scroll: { follow() {} },
    };
  }

  /** The run to stop, or null. */
  stoppable() {
    const run = this.#current();
    return run && !run.ended ? run.run : null;
  }

  // --- what follows the last message ---------------------------------------------------

  #extras() {
    const { told } = this;
    const busy = Boolean(this.#current());
    return [
      busy ? null : this.#goOn(),
      told.trouble ? this.#trouble(told.trouble) : null,
      told.waits && !busy ? this.#ask() : null,
      ...told.queue.map((item) => this.#queued(item)),
    ].filter(Boolean);
  }

  #act(action, more = {}) {
    return () => this.board.act({ action, lane: this.told.id, ...more });
  }

  /** An answer that did not come to its end can go on. */
  #goOn() {
    const { answer, finish, tip } = this.told;
    if (answer !== tip || !FINISH[finish]?.acts.includes("continue")) return null;
    const label = { "aria-label": `Continue the answer of ${this.told.name}` };
    return h(
      "div",
      { class: "card-bar go-on" },
      textButton("Continue", this.#act("continue", { node: answer }), {
        "data-key": "continue",
        ...label,
      }),
    );
  }

  #trouble(what) {
    const { name } = this.told;
    return h(
      "div",
      { class: "card trouble", role: "alert", "data-run": what.run },
      icon("alert"),
      h(
        "div",
        { class: "card-words" },
        h("div", { class: "strong", dir: "auto", text: what.message }),
        what.hint ? h("div", { class: "muted", dir: "auto", text: what.hint }) : null,
        h(
          "div",
          { class: "card-bar" },
          what.refused
            ? textButton(`Turn off ${what.refused} and retry`, this.#act("without", { run: what.run }), {
                class: "button primary",
              })
            : null,
          textButton("Retry", this.#act("retry", { run: what.run }), {
            "data-key": "retry",
            "aria-label": `Retry in ${name}`,
          }),
        ),
      ),
    );
  }

  #ask() {
    return h(
      "div",
      { class: "card ask" },
      icon("clock"),
      h(
        "div",
        { class: "card-words" },
        h("div", { class: "muted", text: "Not asked yet." }),
        h(
          "div",
          { class: "card-bar" },
          textButton("Ask", this.#act("ask"), {
            class: "button primary",
            "data-key": "ask",
            "aria-label": `Ask ${this.told.name}`,
          }),
        ),
      ),
    );
  }

  #queued(item) {
    const held = item.state === "held";
    return h(
      "div",
      { class: "card queued", role: "group", "aria-label": `Queued in ${this.told.name}` },
      icon("clock"),
      h(
        "div",
        { class: "card-words plain", dir: "auto" },
        h("span", { class: "muted", text: held ? "Held: " : "Queued: " }),
        item.text,
      ),
      h(
        "div",
        { class: "card-bar" },
        held
          ? textButton("Send now", this.#act("send_queued", { id: item.id }), {
              "data-key": `send-${item.id}`,
            })
          : null,
        textButton("Take back", this.#act("unqueue", { id: item.id }), {
          "data-key": `back-${item.id}`,
        }),
      ),
    );
  }
}

// The answer that is being written. Blocks that are complete are drawn once and never
// touched again; only the last, unfinished block is drawn anew, at most 30 times a second.

import { h, icon, iconButton, morphChildren } from "./dom.js";
import { blocks, LONG, render } from "./markdown.js";
import { watchCode } from "./code.js";
import { counted, visible, wordCount } from "./words.js";

const FRAME = 33; // ms between two drawings

/** Stages in the words of the page; an unknown one is shown as it came. */
function stageWords(run) {
  const share = run.share != null ? ` ${Math.round(run.share * 100)}%` : "";
  if (!run.stage) return "Waiting for the first word\u2026";
  if (run.stage === "waiting") return "Waiting for the embedded model\u2026";
  if (run.stage === "starting") return `Starting the embedded model\u2026${share}`;
  return `${run.stage[0].toUpperCase()}${run.stage.slice(1)}\u2026${share}`;
}

/**
 * The text without a last line that is only punctuation: "-" may become a list, a rule or a
 * heading underline, and guessing would make the line above jump.
 */
function withoutHalfLine(text) {
  const start = text.lastIndexOf("\n") + 1;
  return /^[ \t]*[-=*_+#|`~>]+[ \t]*$/.test(text.slice(start)) ? text.slice(0, start) : text;
}

/** Close a code span or bold text that is still open, so that its marks do not flash. */
function closed(source) {
  if (source.includes("```") || source.includes("~~~")) return source;
  const line = source.slice(source.lastIndexOf("\n\n") + 1);
  if ((line.match(/`/g)?.length ?? 0) % 2) return `${source}\``;
  const bold = line.match(/\*\*/g)?.length ?? 0;
  if (bold % 2 === 0) return source;
  return source.endsWith("**") ? source.slice(0, -2) : `${source.trimEnd()}**`;
}

/** Markdown that grows at its end. */
class Growing {
  box = h("div", { class: "md growing" });
  #done = 0; // characters that are drawn for good
  #nodes = 0; // and the child nodes they became
  #shown = "";

  draw(text, { last = false } = {}) {
    // A carriage return at the very end may be half of a line end.
    const source = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    const rest = source.slice(this.#done);
    if (rest === this.#shown && !last) return;
    this.#shown = rest;
    const found = blocks(rest);
    while (found.length && found.at(-1).type === "space") found.pop();
    const finished = found
      .slice(0, -1)
      .map((block) => block.raw)
      .join("");
    if (finished.trim()) this.#finish(finished);
    const tail = rest.slice(finished.length);
    const shown = last ? tail : closed(withoutHalfLine(tail));
    morphChildren(this.box, render(shown).childNodes, this.#nodes);
  }

  #finish(source) {
    const fragment = render(source);
    const count = fragment.childNodes.length;
    morphChildren(this.box, fragment.childNodes, this.#nodes);
    this.#nodes += count;
    this.#done += source.length;
    watchCode(this.box);
  }
}

export class LiveTurn {
  #growing = new Growing();
  #text = "";
  #thought = "";
  #words = 0;
  #due = 0;
  #frame = 0;
  #clock = 0;

  constructor(view, run) {
    this.view = view;
    this.run = run;
    this.stage = h("div", { class: "stage" });
    this.recaps = run.purpose === "auto_recap";
    this.first = h("div", { class: "stage recap-first", hidden: !this.recaps });
    this.bar = h("progress", { max: 1, "aria-label": "Progress" });
    this.summary = h("summary", {});
    this.thought = h("div", { class: "plain quiet", dir: "auto" });
    this.thinking = h(
      "details",
      { class: "fold thinking", hidden: true },
      this.summary,
      this.thought,
    );
    this.box = h("div", { class: "body" }, this.thinking, this.#growing.box);
    this.meta = h("div", { class: "meta" });
    this.stopButton = h(
      "button",
      {
        type: "button",
        class: "button stop",
        "aria-label": "Stop answering",
        title: "Stop answering (Esc)",
        onclick: () => this.stop(),
      },
      icon("stop"),
      "Stop",
    );
    this.article = h(
      "article",
      { class: `turn assistant last${this.recaps ? " recapping" : ""}`, tabindex: -1, "data-state": "live", "data-run": run.run },
      this.first,
      this.stage,
      this.box,
      h(
        "div",
        { class: "foot" },
        this.meta,
        h("div", { class: "actions shown" }, this.#sentButton(), this.stopButton),
      ),
    );
    this.#clock = setInterval(() => this.#drawFacts(), 500);
    this.update(run);
    this.#draw({ last: false });
  }

  /** New facts about the run; words are drawn with the next frame. */
  update(run) {
    this.run = run;
    const what = this.recaps
      ? `Recap by ${run.model}`
      : `Turn ${this.view.lastTurnNumber() || 1}, answer by ${run.model}`;
    this.article.setAttribute("aria-label", `${what}, being written`);
    if (this.recaps) this.#drawFirst();
    if (run.ended) this.#settle();
    this.#drawFacts();
    if (!this.#frame) this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  /** A recap that goes before the answer is not the answer: say what is being written. */
  #drawFirst() {
    const { live } = this.view.data;
    const span = live?.run === this.run.run ? live.span : null;
    this.first.textContent = `Writing a recap of ${span ?? "the beginning"} first\u2026`;
  }

  #sentButton() {
    const look = () => this.view.act({ action: "sent", run: this.run.run });
    return iconButton("sent", "What was sent", look, { tabindex: 0 });
  }

  /** Ask the run to stop; false if there is nothing left to stop. */
  stop() {
    if (this.run.ended || this.stopButton.disabled) return false;
    this.stopButton.disabled = true;
    this.view.act({ action: "stop", run: this.run.run });
    return true;
  }

  /** Everything said, drawn as a settled answer would be; the element to hand over. */
  finish() {
    cancelAnimationFrame(this.#frame);
    this.destroy();
    if (this.thinking.hidden) this.thinking.remove();
    return this.box;
  }

  destroy() {
    cancelAnimationFrame(this.#frame);
    clearInterval(this.#clock);
    this.#frame = -1; // nothing is drawn after the end
  }

  #settle() {
    this.article.classList.add("ended");
    this.stopButton.hidden = true;
    clearInterval(this.#clock);
  }

  #tick(now) {
    if (now < this.#due && !this.run.ended) {
      this.#frame = requestAnimationFrame((next) => this.#tick(next));
      return;
    }
    this.#frame = 0;
    const start = performance.now();
    this.#draw({ last: Boolean(this.run.ended) });
    // a costly block is drawn less often, so that the page never stops answering
    this.#due = now + Math.max(FRAME, 4 * (performance.now() - start));
    this.view.scroll.follow();
  }

  #draw({ last }) {
    const { text, thinking } = this.run;
    if (thinking.length !== this.#thought.length) this.#drawThinking(thinking);
    if (text !== this.#text || last) {
      if (!text.startsWith(this.#text)) this.#restart();
      if (text.length > LONG) this.#drawHuge(text);
      else this.#growing.draw(visible(text), { last });
      this.#text = text;
      this.#drawFacts();
    }
  }

  /** After a lost connection the words may differ from those drawn: begin again. */
  #restart() {
    const growing = new Growing();
    this.#growing.box.replaceWith(growing.box);
    this.#growing = growing;
    this.#text = "";
  }

  #drawThinking(thinking) {
    const fresh = thinking.slice(this.#thought.length);
    this.#words += wordCount(fresh);
    this.thought.append(visible(fresh));
    this.#thought = thinking;
    this.thinking.hidden = false;
    this.thinking.classList.toggle("now", !this.run.text);
    this.summary.textContent = `Thinking \u00b7 ${counted(this.#words, "word")}`;
  }

  /** Past any sensible length words are only appended. */
  #drawHuge(text) {
    this.#growing.box.classList.add("plain");
    this.#growing.box.append(visible(text.slice(this.#text.length)));
  }

  #drawFacts() {
    const { run } = this;
    const waiting = !run.text && !run.thinking && !run.ended;
    this.stage.hidden = !waiting && !run.retry;
    if (!this.stage.hidden) this.#drawStage();
    const seconds = run.since == null ? null : Math.floor((performance.now() - run.since) / 1000);
    const pieces = [run.label || run.model, run.ended || seconds == null ? null : `${seconds} s`];
    const words = pieces.filter(Boolean).join(" \u00b7 ");
    if (this.meta.textContent !== words) this.meta.textContent = words;
  }

  #drawStage() {
    const { run } = this;
    const left = run.retry
      ? Math.max(0, Math.ceil((run.retry.until - performance.now()) / 1000))
      : 0;
    const words = run.retry ? `Retrying in ${left} s: ${run.retry.message}` : stageWords(run);
    if (this.stage.firstChild?.textContent !== words) {
      this.stage.replaceChildren(h("span", { class: "stage-words", text: words }), this.bar);
    }
    this.bar.hidden = run.share == null || Boolean(run.retry);
    if (!this.bar.hidden) this.bar.value = run.share;
  }
}

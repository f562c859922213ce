// One settled message of the conversation: an article that is drawn once and then only told
// what changed around it.

import { actionRow } from "./actions.js";
import { body as bodyOf, loadBodies } from "./bodies.js";
import { watchCode } from "./code.js";
import { h, icon, iconButton, morphChildren, replaceKeepingFocus, textButton } from "./dom.js";
import { editor, forgetEdit, wasEditing } from "./editor.js";
import { fileChip, fileRow } from "./files.js";
import { originLines } from "./origins.js";
import { LONG, longMessage, plain, render } from "./markdown.js";
import {
  counted,
  FINISH,
  metaDetail,
  metaPieces,
  speaker,
  textOf,
  visible,
  wordCount,
} from "./words.js";

/** Thinking, folded: its length says whether it is worth opening. */
export function thinking(text) {
  const words = h("div", { class: "plain quiet", dir: "auto", text: visible(text) });
  return h(
    "details",
    { class: "fold thinking" },
    h("summary", { text: `Thinking \u00b7 ${counted(wordCount(text), "word")}` }),
    words,
  );
}

function prettyJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function tool(part) {
  const call = part.type === "tool_call";
  const words = call ? "Tool call" : part.is_error ? "Tool error" : "Tool result";
  const text = prettyJson(String((call ? part.arguments : part.text) ?? ""));
  return h(
    "details",
    { class: "fold tool" },
    h("summary", {}, `${words} \u00b7 `, h("code", { text: part.name })),
    h("pre", { class: "scroll", tabindex: 0, dir: "ltr", text: visible(text) }),
  );
}

/** What was sent after a person's words without being part of them. */
function reminder(suffix) {
  return h(
    "details",
    { class: "fold reminder" },
    h("summary", { text: "sent with a reminder of the objective" }),
    h("div", { class: "plain quiet", dir: "auto", text: visible(suffix.trim()) }),
  );
}

const ARRIVAL = 800; // ms; what an act changes comes with the next data, or soon after

export class Turn {
  mode = "pretty"; // or "raw", or "changes"
  #signature = "";
  #edit = null;
  #sent = false; // an edit, of which the page has not told yet

  constructor(view, entry) {
    this.view = view;
    this.entry = entry;
    this.box = h("div", { class: "body" });
    this.outcome = h("div", { class: "outcome" });
    this.origins = h("div", { class: "origins" });
    this.meta = h("div", { class: "meta" });
    this.links = h("div", { class: "links" });
    this.actions = actionRow(this);
    this.foot = h("div", { class: "foot" }, this.meta, this.links, this.actions);
    this.article = h(
      "article",
      {
        class: `turn ${entry.role}`,
        tabindex: -1,
        "data-node-id": entry.id,
        "data-role": entry.role,
        "data-state": "settled",
      },
      this.box,
      this.outcome,
      this.origins,
      this.foot,
    );
    this.update(entry);
    this.draw();
    if (wasEditing(entry.id) && !view.data.readonly) this.edit({ focus: false });
  }

  get id() {
    return this.entry.id;
  }

  get body() {
    return bodyOf(this.entry.id);
  }

  get name() {
    return `Turn ${this.entry.turn}, ${speaker(this.entry)}`;
  }

  /** New facts about the message: marks, versions, forks, its place. */
  update(entry, last = this.last) {
    const signature = JSON.stringify([entry, last, this.view.data.readonly]);
    if (signature === this.#signature) return;
    this.#signature = signature;
    this.entry = entry;
    this.last = last;
    this.article.setAttribute("aria-label", this.name);
    this.article.classList.toggle("last", Boolean(last));
    this.article.classList.toggle("final", Boolean(entry.final));
    this.article.classList.toggle("muted-turn", Boolean(entry.muted));
    this.#drawMeta();
    this.#drawOutcome();
    replaceKeepingFocus(this.origins, ...originLines(this));
    this.#drawLinks();
    this.actions.refresh();
  }

  // --- the words ---------------------------------------------------------------------

  /** Draw the body anew, in the current mode. Bodies never change, so this is rare. */
  draw() {
    const body = this.body;
    this.drawn = Boolean(body);
    if (!body) {
      this.box.replaceChildren(h("div", { class: "placeholder", "aria-busy": "true" }));
      return;
    }
    if (this.mode === "raw") {
      this.box.replaceChildren(h("pre", { class: "raw" }, plain(textOf(body), "plain")));
    } else {
      this.box.replaceChildren(...this.parts(body));
      watchCode(this.box);
    }
  }

  /** The body as elements, neighbouring pieces of text joined. */
  parts(body) {
    const elements = [];
    let text = "";
    const flush = () => {
      if (text) elements.push(this.#text(text));
      text = "";
    };
    for (const part of body.parts) {
      if (part.type === "text") {
        text += part.text;
        continue;
      }
      flush();
      if (part.type === "thinking") elements.push(thinking(part.text));
      else if (part.type.startsWith("tool_")) elements.push(tool(part));
      else if (part.type === "attachment") {
        if (!elements.at(-1)?.matches(".files")) elements.push(fileRow());
        const { layer, data } = this.view;
        elements.at(-1).append(fileChip(part, { token: data.token, layer }));
      }
    }
    flush();
    if (!elements.length) elements.push(h("div", { class: "muted", text: "(no words)" }));
    if (body.sent_suffix) elements.push(reminder(body.sent_suffix));
    if (this.entry.note) elements.push(h("div", { class: "muted note", text: this.entry.note }));
    return elements;
  }

  #text(text) {
    const markdown = this.entry.role === "assistant";
    if (text.length > LONG) {
      return longMessage(text, {
        markdown,
        resize: (element, change) => this.view.scroll.hold(element, change),
      });
    }
    return markdown ? h("div", { class: "md" }, render(text)) : plain(text);
  }

  /** Take over the words of the live answer, already on the screen: nothing flickers. */
  adopt(box) {
    if (!this.body || this.#edit || textOf(this.body).length > LONG) return;
    morphChildren(box, this.parts(this.body));
    this.box.replaceWith(box);
    this.box = box;
    watchCode(box);
  }

  async setMode(mode) {
    this.mode = mode;
    if (mode === "changes") await this.#drawChanges();
    else this.view.scroll.hold(this.actions, () => this.draw());
    this.actions.refresh();
  }

  async #drawChanges() {
    const previous = this.entry.previous_answer;
    const [{ changes }] = await Promise.all([
      import("./changes.js"),
      loadBodies([previous], this.view.data.token).catch(() => null),
    ]);
    if (this.mode !== "changes") return;
    const before = bodyOf(previous);
    const content = before
      ? changes(textOf(before), textOf(this.body))
      : h("div", { class: "muted", text: "The previous answer could not be loaded. Try again." });
    this.view.scroll.hold(this.actions, () => this.box.replaceChildren(content));
  }

  // --- what surrounds them -----------------------------------------------------------

  #drawMeta() {
    const { entry } = this;
    this.meta.replaceChildren(metaPieces(entry).join(" \u00b7 "));
    this.meta.title = metaDetail(entry.run);
    if (entry.final) {
      this.meta.append(h("span", { class: "badge accent" }, icon("final"), "final"));
    }
    for (const [mark, said] of [
      ["pinned", "Always sent on this branch"],
      ["muted", "Not sent on this branch"],
    ]) {
      if (!entry[mark]) continue;
      const picture = icon(mark === "pinned" ? "pin" : "mute");
      this.meta.append(h("span", { class: "badge mark", title: said }, picture, mark));
    }
  }

  #drawOutcome() {
    const { entry, view } = this;
    const finish = FINISH[entry.run?.finish];
    this.outcome.hidden = !finish;
    if (!finish) return this.outcome.replaceChildren();
    const acts = this.last && !view.data.readonly ? finish.acts : [];
    const buttons = {
      continue: () => view.act({ action: "continue", node: entry.id }),
      retry: () => view.act({ action: "retry", run: entry.run.id }),
    };
    const words = { continue: "Continue", retry: "Retry" };
    replaceKeepingFocus(
      this.outcome,
      h("span", { class: "badge warn", title: finish.hint }, icon("alert"), finish.words),
      finish.hint && this.last ? h("span", { class: "muted", text: finish.hint }) : null,
      acts.map((act) => textButton(words[act], buttons[act], { "data-key": act })),
    );
  }

  #drawLinks() {
    const { entry, view } = this;
    const { siblings } = entry;
    const see = (target) => () => view.see(target);
    const versions = siblings
      ? h(
          "span",
          { class: "versions", role: "group", "aria-label": "Versions" },
          iconButton("previous", "Previous version", see(siblings.previous), {
            "data-key": "previous",
            disabled: !siblings.previous,
          }),
          h("span", { class: "count", text: `${siblings.index}/${siblings.count}` }),
          iconButton("next", "Next version", see(siblings.next), {
            "data-key": "next",
            disabled: !siblings.next,
          }),
        )
      : null;
    const forks = (entry.forks ?? []).map(({ branch_id: branch, name }) =>
      h(
        "button",
        {
          type: "button",
          class: "chip",
          tabindex: -1,
          "data-key": `branch-${branch}`,
          title: `Go to the branch ${name}`,
          "aria-label": `Branch ${name}`,
          onclick: () => view.act({ action: "branch", branch }),
        },
        icon("fork"),
        h("span", { text: name }),
      ),
    );
    replaceKeepingFocus(this.links, versions, forks);
  }

  /** Whether a recap stands in for it; a pinned message is sent all the same. */
  cover(covered) {
    this.article.classList.toggle("covered", covered && !this.entry.pinned);
  }

  /** Leave the page, for another version perhaps. */
  remove() {
    if (this.#sent) forgetEdit(this.id);
    this.article.remove();
  }

  /** An edit that never arrived, because the server was away, is opened again. */
  recall() {
    if (!this.#sent) return;
    setTimeout(() => {
      if (!this.#sent || this.#edit || !this.article.isConnected) return;
      this.#sent = false;
      this.edit({ focus: false });
    }, ARRIVAL);
  }

  // --- editing -----------------------------------------------------------------------

  edit({ focus = true } = {}) {
    if (this.#edit) return this.#edit.focus();
    if (!this.body) return undefined;
    const { role, id } = this.entry;
    const done = (text) => {
      this.view.scroll.hold(this.article, () => {
        this.#edit.element.replaceWith(this.box);
        this.#edit = null;
        this.article.classList.remove("editing");
      });
      this.#sent = text !== null;
      if (text !== null)
        this.view.act({ action: "edit", node: id, text, send: role !== "assistant" });
      if (text === null) this.article.focus({ preventScroll: true });
    };
    const files = this.body.parts.some(({ type }) => type === "attachment");
    this.#edit = editor({ id, role, text: textOf(this.body), files, done });
    this.article.classList.add("editing");
    if (focus) {
      this.view.scroll.hold(this.article, () => this.#open());
      this.#edit.focus();
    } else {
      this.#open();
      requestAnimationFrame(() => this.#edit?.grow());
    }
    return undefined;
  }

  #open() {
    this.box.replaceWith(this.#edit.element);
    this.#edit.grow();
  }

  /** Show that the tree or a search led here. */
  flash() {
    this.article.classList.remove("flash");
    void this.article.offsetWidth; // start the animation again
    this.article.classList.add("flash");
  }
}

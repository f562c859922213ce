// One field for what is said next, in all lanes or in the ticked ones. The words stay in the
// field until the page has said that they went out, and in the browser's storage until then.

import { h, icon, iconButton, replaceKeepingFocus } from "../thread/dom.js";
import { fileRow, removableChip } from "../thread/files.js";
import { counted } from "../thread/words.js";
import { bringBack } from "./head.js";

const UNHEARD = 8000; // ms until words that nobody answered can be sent again
const ATTACHED = 60000; // ms until files that nobody answered are given up
let placed = 0; // the last words taken back that were put into a field

function read(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key, value) {
  try {
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch {
    // A full or forbidden storage costs only the safety net.
  }
}

/** The bytes of a file as base64. */
function inBase64(file) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });
}

export class FollowUp {
  #left = new Set(); // lanes without a tick
  #comparison = null;
  #told = null; // the last files that the page has answered
  #sending = null; // {n, text}
  #timer = 0;
  #attaching = 0; // a timer, while files are on their way
  #files = "[]";

  constructor(board) {
    this.board = board;
    this.area = h("textarea", {
      class: "follow-area",
      rows: 1,
      dir: "auto",
      "aria-label": "Follow up",
      spellcheck: "true",
    });
    this.button = h("button", { type: "button", class: "button primary send" });
    this.chooser = h("input", {
      type: "file",
      multiple: true,
      hidden: true,
      onchange: () => this.#attach(this.chooser.files),
    });
    this.plus = iconButton("plus", "Attach files", () => this.chooser.click(), {
      class: "act plus",
      tabindex: 0,
    });
    this.files = h("div", { class: "follow-files", hidden: true });
    this.note = h("div", { class: "note follow-note" });
    this.dropped = h("div", { class: "note dropped", hidden: true });
    this.element = h(
      "div",
      { class: "follow", role: "group", "aria-label": "Follow up in lanes" },
      this.dropped,
      this.files,
      h("div", { class: "follow-box" }, this.plus, this.chooser, this.area, this.button),
      this.note,
    );
    this.button.addEventListener("click", () => this.#send());
    this.#takeFiles();
    this.area.addEventListener("input", () => {
      write(this.#key(), this.area.value);
      this.draw();
    });
    this.area.addEventListener("keydown", (event) => {
      event.stopPropagation(); // letters mean other things to the page around us
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#send();
    });
  }

  /** Files that are dropped on the field, or pasted into it. */
  #takeFiles() {
    const carries = ({ dataTransfer }) => dataTransfer?.types.includes("Files");
    this.element.addEventListener("dragover", (event) => carries(event) && event.preventDefault());
    this.element.addEventListener("drop", (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      this.#attach(event.dataTransfer.files);
    });
    this.area.addEventListener("paste", (event) => {
      if (!event.clipboardData?.files.length) return;
      event.preventDefault();
      this.#attach(event.clipboardData.files);
    });
  }

  async #attach(list) {
    const files = [...list];
    this.chooser.value = "";
    if (!files.length || this.#attaching) return;
    this.#attaching = setTimeout(() => this.#attached(), ATTACHED);
    this.draw();
    const { bytes } = this.board.data.limits;
    // Too large a file is not read: its name alone is told, and that it did not arrive.
    const told = files.map(async (file) => ({
      name: file.name,
      ...(file.size <= bytes ? { data: await inBase64(file) } : {}),
    }));
    this.board.act({ action: "attach", files: await Promise.all(told) });
  }

  #attached() {
    clearTimeout(this.#attaching);
    this.#attaching = 0;
    this.draw();
  }

  #key() {
    return `turntree.lanes.${this.#comparison}`;
  }

  #leftKey() {
    return `turntree.lanes.left.${this.#comparison}`;
  }

  ticked(id) {
    return !this.#left.has(id);
  }

  tick(id, on) {
    if (on) this.#left.delete(id);
    else this.#left.add(id);
    write(this.#leftKey(), [...this.#left].join(" "));
    this.draw();
  }

  update(data) {
    if (data.comparison_id !== this.#comparison) this.#begin(data);
    const { heard, insert } = data;
    if (this.#sending && heard?.n === this.#sending.n) this.#answered(heard.fine);
    if (insert && insert.n > placed) {
      placed = insert.n;
      this.area.value = [this.area.value.trimEnd(), insert.text].filter(Boolean).join("\n\n");
      write(this.#key(), this.area.value);
    }
    if (this.#attaching && data.attached !== this.#told) this.#attached();
    this.#told = data.attached;
    this.#drawFiles(data);
    this.#drawDropped(data);
    this.draw();
  }

  #drawFiles({ files, token }) {
    const wanted = JSON.stringify(files);
    if (wanted === this.#files) return;
    this.#files = wanted;
    this.files.hidden = !files.length;
    const row = fileRow();
    row.setAttribute("aria-label", "Files for the next follow-up");
    for (const file of files) {
      const remove = () => this.board.act({ action: "drop_file", sha256: file.sha256 });
      row.append(removableChip(file, { token, layer: this.board.layer, remove }));
    }
    this.files.replaceChildren(row);
  }

  #begin(data) {
    this.#comparison = data.comparison_id;
    this.#left = new Set((read(this.#leftKey()) ?? "").split(" ").filter(Boolean));
    this.area.value = read(this.#key()) ?? data.draft ?? "";
    this.#sending = null;
    for (const lane of this.board.lanes.values()) lane.header.update(lane.told);
  }

  /** The lanes that are to go on. */
  #chosen() {
    return this.board.data.lanes.filter(({ id }) => this.ticked(id));
  }

  #send() {
    const text = this.area.value;
    const lanes = this.#chosen();
    const nothing = !text.trim() && !this.board.data.files.length;
    if (nothing || !lanes.length || this.#sending || this.#attaching) return;
    const only = lanes.map(({ id }) => id);
    this.#sending = { n: this.board.act({ action: "follow_up", text, only }), text };
    this.#timer = setTimeout(() => this.#answered(false), UNHEARD);
    this.draw();
  }

  #answered(fine) {
    clearTimeout(this.#timer);
    if (fine && this.area.value === this.#sending.text) {
      this.area.value = "";
      write(this.#key(), "");
    }
    this.#sending = null;
    this.draw();
  }

  #drawDropped({ dropped }) {
    this.dropped.hidden = !dropped.length;
    replaceKeepingFocus(this.dropped, [
      h("span", { text: "Dropped:" }),
      ...dropped.map((lane) => bringBack(this.board, lane)),
    ]);
  }

  /** Say where the words would go, now that ticks or answers have changed. */
  draw() {
    const { lanes } = this.board.data;
    const chosen = this.#chosen();
    const all = chosen.length === lanes.length;
    const where = all ? (lanes.length === 1 ? "the lane" : `all ${lanes.length} lanes`) : counted(chosen.length, "lane");
    this.area.placeholder = chosen.length ? `Follow up in ${where}` : "Tick the lanes that are to go on";
    const label = chosen.length ? `Send to ${counted(chosen.length, "lane")}` : "No lane is ticked";
    if (this.button.dataset.label !== label) {
      this.button.dataset.label = label;
      this.button.replaceChildren(icon("sent"), label);
    }
    this.area.readOnly = Boolean(this.#sending);
    const nothing = !this.area.value.trim() && !this.board.data.files.length;
    const onTheWay = Boolean(this.#sending || this.#attaching);
    this.button.disabled = onTheWay || !chosen.length || nothing;
    this.plus.disabled = onTheWay;
    this.plus.title = `Attach files. ${this.board.data.limits.text}`;
    const busy = chosen.filter(({ id }) => this.board.lanes.get(id)?.stoppable()).length;
    this.note.textContent = this.#attaching
      ? "The files are on their way\u2026"
      : busy
      ? `${counted(busy, "lane")} still answering: there it waits its turn.`
      : "Each lane goes on with its own history.";
    this.#grow();
  }

  #grow() {
    this.area.style.height = "auto";
    this.area.style.height = `${Math.min(this.area.scrollHeight + 2, window.innerHeight * 0.3)}px`;
  }
}

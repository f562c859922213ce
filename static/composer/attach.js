// Files beside the chat input: those that wait for the next message, a word of warning about
// those being attached, and a drop anywhere on the page.

import { h, textButton } from "../thread/dom.js";
import { fileRow, isImage, removableChip } from "../thread/files.js";

const CHIP = '[data-testid="stFileChip"]';
const NAME = '[data-testid="stFileChipName"]';
const UPLOAD = '[data-testid="stChatInputFileUploadButton"]';
const PICTURE = /\.(png|jpe?g|gif|webp)$/i;
const NOT_TAKEN = /\.(docx?|xlsx?|pptx?|odt|ods|odp|rtfd|zip|gz|7z|rar|mp[34]|m4a|wav|mov|avi|mkv|heic|heif|tiff?|bmp|exe|dmg)$/i;
const UNITS = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 };

export class Attach {
  #told = "";

  /** `act` sends what was done to the page; `say(words, warns)` shows a line, "" the usual one. */
  constructor(parent, { act, say }) {
    this.act = act;
    this.say = say;
    this.row = h("div", { class: "pending", hidden: true });
    this.layer = h("div", { class: "layer" });
    parent.prepend(this.row);
    parent.append(this.layer);
    this.stop = new AbortController();
    const on = (type, hear) => document.addEventListener(type, hear, { signal: this.stop.signal });
    on("drop", (event) => elsewhere(event) && this.#take(event));
    on("mouseover", ({ target }) => this.look(Boolean(target.closest?.(UPLOAD))));
    on("focusin", ({ target }) => this.look(Boolean(target.closest?.(UPLOAD))));
  }

  destroy() {
    this.stop.abort();
    this.row.remove();
    this.layer.remove();
  }

  update(data) {
    const before = JSON.stringify(this.data?.pending);
    this.data = data;
    if (before !== JSON.stringify(data.pending)) this.#draw();
    this.look();
  }

  /** Say what is to be said of the files that are there; the limits, if somebody `asks`. */
  look(asks = false) {
    if (!this.data) return;
    const { limits } = this.data;
    document.querySelector(`${UPLOAD} button`)?.setAttribute("aria-description", limits.text);
    const attached = [...document.querySelectorAll(CHIP)];
    const warning = this.#warning(attached);
    const words = warning || (asks || attached.length ? limits.text : "");
    if (words === this.#told) return;
    this.#told = words;
    this.say(words, Boolean(warning));
  }

  #warning(attached) {
    const { pending, blind, limits } = this.data;
    const names = attached.map((chip) => chip.querySelector(NAME)?.title ?? "");
    const strange = names.find((name) => NOT_TAKEN.test(name));
    if (strange) return `${strange} is not taken: attach images, PDF or text.`;
    if (names.length + pending.length > limits.files)
      return `A message takes ${limits.files} files; there are ${names.length + pending.length}.`;
    const size = [...attached.map(bytesOf), ...pending.map((file) => file.size ?? 0)];
    if (size.reduce((sum, bytes) => sum + bytes, 0) > limits.bytes)
      return `The files are over ${limits.bytes / UNITS.MB} MB together.`;
    if (blind && (pending.some(isImage) || names.some((name) => PICTURE.test(name))))
      return `${blind} takes no images. Choose another model, or remove them.`;
    return "";
  }

  #draw() {
    const { pending, token } = this.data;
    this.row.hidden = !pending.length;
    if (!pending.length) return this.row.replaceChildren();
    const chips = fileRow();
    chips.setAttribute("aria-label", "Files for the next message");
    for (const file of pending) {
      const remove = () => this.act({ action: "drop_file", sha256: file.sha256 });
      chips.append(removableChip(file, { token, layer: this.layer, remove }));
    }
    const send = textButton("Send without words", () => this.act({ action: "send_files" }));
    this.row.replaceChildren(
      h("div", { class: "pending-head" }, h("span", { text: "For the next message" }), send),
      chips,
    );
    return undefined;
  }

  /** Files dropped beside the input: hand them to it. */
  #take(event) {
    event.preventDefault();
    const input = document.querySelector(`${UPLOAD} input[type="file"]`);
    if (!input) return;
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

/** Whether files are dragged over a place that does not take them by itself. */
function elsewhere(event) {
  if (!event.dataTransfer?.types.includes("Files")) return false;
  return !event.target.closest?.('[data-testid="stChatInput"], [data-testid="stFileUploader"]');
}

function bytesOf(chip) {
  const found = /([\d.,]+)\s*(B|KB|MB|GB)$/.exec(chip.getAttribute("aria-label") ?? "");
  return found ? Number(found[1].replace(",", ".")) * UNITS[found[2]] : 0;
}

// Model text to safe DOM: marked for the grammar, DOMPurify as the wall behind it.
//
// The text is shown as the model wrote it. HTML in it is words, not markup; a remote image
// is a link, because fetching it would tell another host that this answer was read.

import { Marked } from "../vendor/marked.esm.js";
import createPurify from "../vendor/purify.es.js";
import { decorateCode } from "./code.js";
import { h } from "./dom.js";
import { size, visible } from "./words.js";

/** Longer texts are shown as plain text first; their Markdown is drawn only when asked for. */
export const LONG = 200_000;
const PREVIEW = 20_000;
const SLICE = 20_000;

const LINK = /^(https?:\/\/|mailto:)/i;
const INLINE_IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,/i;
const LEFTWARD =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escapeHtml = (text) => text.replace(/[&<>"']/g, (char) => ESCAPES[char]);

const md = new Marked({
  gfm: true,
  breaks: true, // a single newline stays a newline
  tokenizer: {
    // The stock rule keeps track of <a> and <pre> and then passes what is inside them
    // unescaped. Here a tag is nothing but text.
    tag(src) {
      const match = this.rules.inline.tag.exec(src);
      if (!match) return undefined;
      return { type: "html", raw: match[0], text: match[0], block: false };
    },
    // A tag or comment that is never closed would turn all the rest of the answer into words
    // without form; it ends at the next blank line instead.
    html(src) {
      const raw = this.rules.block.html.exec(src)?.[0];
      if (!raw) return undefined;
      const open = /^ {0,3}<(?:(script|pre|style|textarea)\b|!--)/i.exec(raw);
      const closed =
        !open || raw.toLowerCase().includes(open[1] ? `</${open[1].toLowerCase()}` : "-->");
      const blank = closed ? -1 : raw.search(/\n[ \t]*\n/);
      const cut = blank < 0 ? raw : raw.slice(0, blank + 1);
      return { type: "html", raw: cut, text: cut, block: true };
    },
  },
  renderer: {
    html({ text, block }) {
      return block ? `<div class="literal">${escapeHtml(text.trimEnd())}</div>` : escapeHtml(text);
    },
    image({ href, text, raw }) {
      if (INLINE_IMAGE.test(href))
        return `<img src="${escapeHtml(href)}" alt="${escapeHtml(text)}">`;
      if (!/^https?:\/\//i.test(href)) return escapeHtml(raw);
      const label = escapeHtml(text || href);
      return `<a class="remote-image" href="${escapeHtml(href)}">${label}</a>`;
    },
    checkbox({ checked }) {
      return checked ? "\u2611 " : "\u2610 ";
    },
  },
});

const purify = createPurify(window);
const PURE = {
  ALLOWED_TAGS:
    "p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del a img table thead tbody tr th td div".split(
      " ",
    ),
  ALLOWED_ATTR: ["href", "title", "alt", "src", "class", "start", "align"],
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

/** Markdown as a fragment of safe elements. Never throws: what cannot be parsed is plain. */
export function render(text) {
  try {
    const fragment = purify.sanitize(md.parse(visible(text)), PURE);
    decorate(fragment);
    return fragment;
  } catch {
    const fragment = document.createDocumentFragment();
    fragment.append(plain(text));
    return fragment;
  }
}

/** The top-level blocks of a text, as their raw source; joined they are the text again. */
export function blocks(text) {
  const lexer = new md.Lexer(md.defaults);
  return lexer.blockTokens(text, []).map((token) => ({ type: token.type, raw: token.raw }));
}

function decorate(fragment) {
  for (const link of fragment.querySelectorAll("a")) {
    if (LINK.test(link.getAttribute("href") ?? "")) {
      link.target = "_blank";
      link.rel = "noopener noreferrer nofollow";
      if (link.className === "remote-image") link.title = `Image, not loaded: ${link.href}`;
    } else {
      // A relative address would point into this app; other schemes may run code.
      link.replaceWith(h("span", { title: link.getAttribute("href") }, ...link.childNodes));
    }
  }
  for (const image of fragment.querySelectorAll("img")) {
    if (!INLINE_IMAGE.test(image.getAttribute("src") ?? "")) image.remove();
  }
  for (const table of fragment.querySelectorAll("table")) {
    const box = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" });
    table.replaceWith(box);
    box.append(table);
  }
  for (const block of fragment.querySelectorAll("p,h1,h2,h3,h4,h5,h6,td,th,.literal")) {
    block.setAttribute("dir", "auto");
  }
  // "auto" does not look into blocks that have a direction of their own; bullets and bars do
  for (const block of fragment.querySelectorAll("ul,ol,blockquote")) {
    if (LEFTWARD.test(/\p{L}/u.exec(block.textContent)?.[0])) block.setAttribute("dir", "rtl");
  }
  for (const pre of fragment.querySelectorAll("pre")) decorateCode(pre);
}

/** Text exactly as typed; a huge one in slices that the browser lays out only when seen. */
export function plain(text, className = "plain") {
  const shown = visible(text);
  const box = h("div", { class: className, dir: "auto" });
  if (shown.length <= 2 * SLICE) {
    box.textContent = shown;
    return box;
  }
  let start = 0;
  while (start < shown.length) {
    const newline = shown.indexOf("\n", start + SLICE);
    // a slice is a block, so it may only end where a line does, unless the line has no end
    const end = newline < 0 || newline - start > 10 * SLICE ? start + 10 * SLICE : newline + 1;
    const part = shown.slice(start, end);
    box.append(
      h("div", { class: "slice", text: part.endsWith("\n") ? part.slice(0, -1) || "\n" : part }),
    );
    start = end;
  }
  return box;
}

/**
 * A message longer than LONG: its beginning, then all of it, then (for answers) its Markdown
 * drawn slice by slice while the browser is idle. `resize(element, change)` runs `change`
 * and keeps `element` where it is on the screen.
 */
export function longMessage(text, { markdown, resize }) {
  const bar = h("div", { class: "long-bar" });
  let shown = plain(text.slice(0, PREVIEW));
  const box = h("div", { class: "long", role: "group", "aria-label": "Long message" }, shown, bar);
  const show = (next, ...controls) =>
    resize(bar, () => {
      shown.replaceWith(next);
      shown = next;
      bar.replaceChildren(...controls);
    });
  const button = (label, act) =>
    h("button", { type: "button", class: "button", onclick: act }, label);
  const showAll = () =>
    show(plain(text), ...(markdown ? [button("Show as Markdown", showMarkdown)] : []));
  const showMarkdown = () => show(renderLazily(text), button("Show as plain text", showAll));
  bar.append(
    h("span", { class: "muted", text: "Long message. " }),
    button(`Show all (${size(text.length)})`, showAll),
  );
  return box;
}

function renderLazily(text) {
  const groups = [""];
  for (const { raw } of blocks(text)) {
    if (groups.at(-1).length + raw.length > SLICE && groups.at(-1)) groups.push("");
    groups[groups.length - 1] += raw;
  }
  const box = h("div", {});
  const step = () => {
    const group = groups.shift();
    if (group === undefined) return;
    const content = group.length > LONG ? plain(group) : render(group);
    box.append(h("div", { class: "md slice" }, content));
    setTimeout(step, 16); // leave room for input between two slices
  };
  step();
  return box;
}

/** Sanitised markup of the highlighter, as a fragment. */
export function pureSpans(html) {
  return purify.sanitize(html, {
    ALLOWED_TAGS: ["span"],
    ALLOWED_ATTR: ["class"],
    RETURN_DOM_FRAGMENT: true,
  });
}

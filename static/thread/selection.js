// A small toolbar over selected words of a turn: quote, rewrite only this, fork from here.

import { h, icon } from "./dom.js";
import { place } from "./menu.js";

const quoted = (text) =>
  text
    .trim()
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");

const ACTS = [
  ["Quote", "quote", (text) => ({ action: "compose", text: `${quoted(text)}\n\n` })],
  [
    "Rewrite only this passage",
    "edit",
    (text) => ({
      action: "compose",
      text: `Rewrite only this passage and keep everything else exactly as it is:\n\n${quoted(text)}\n\n`,
    }),
  ],
  ["Fork from here", "fork", (_text, node) => ({ action: "fork", node })],
];

/** A triple click ends its range in whatever follows the message: take it back to its end. */
function withinBody(range) {
  const { startContainer: start } = range;
  const body = (start.nodeType === Node.ELEMENT_NODE ? start : start.parentElement)?.closest(".body");
  if (!body || body.contains(range.endContainer)) return;
  const inside = range.cloneRange();
  inside.setEnd(body, body.childNodes.length);
  if (inside.toString().trim() === range.toString().trim()) range.setEnd(body, body.childNodes.length);
}

/** The selected range inside `root`, which may be a shadow root, or null. */
function selectedRange(root) {
  const selection = root.getSelection?.() ?? document.getSelection();
  if (!selection || !selection.rangeCount) return null;
  const composed = selection.getComposedRanges?.({ shadowRoots: [root] })[0];
  const range = document.createRange();
  const ends = composed ?? selection.getRangeAt(0);
  if (!root.contains(ends.startContainer) || !root.contains(ends.endContainer)) return null;
  range.setStart(ends.startContainer, ends.startOffset);
  range.setEnd(ends.endContainer, ends.endOffset);
  withinBody(range);
  return range.collapsed ? null : { range, text: selection.toString() || range.toString() };
}

/** Show the toolbar for selections within one settled turn; returns the function that ends it. */
export function watchSelection({ root, layer, act, readonly }) {
  const bar = h("div", {
    class: "selection-bar",
    role: "toolbar",
    "aria-label": "Selected text",
    popover: "manual",
  });
  let current = null;
  let timer = 0;
  let pressed = false;
  for (const [label, picture, message] of ACTS) {
    bar.append(
      h(
        "button",
        {
          type: "button",
          class: "button",
          // keep the selection while its own button is pressed
          onpointerdown: (event) => event.preventDefault(),
          onclick: () => {
            const { text, node } = current;
            hide();
            document.getSelection()?.removeAllRanges();
            act(message(text, node));
          },
        },
        icon(picture),
        label,
      ),
    );
  }
  layer.append(bar);

  const hide = () => {
    if (bar.matches(":popover-open")) bar.hidePopover();
  };
  const look = () => {
    const found = pressed || readonly() ? null : selectedRange(root);
    const common = found?.range.commonAncestorContainer;
    const element = common?.nodeType === Node.ELEMENT_NODE ? common : common?.parentElement;
    const turn = element?.closest(".body")?.closest("article[data-node-id]");
    if (!turn || !found.text.trim()) return hide();
    current = { text: found.text, node: turn.dataset.nodeId };
    if (!bar.matches(":popover-open")) bar.showPopover();
    place(bar, found.range.getBoundingClientRect(), { above: true });
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(look, 120);
  };
  const events = {
    selectionchange: later,
    pointerdown: (event) => {
      pressed = !event.composedPath().includes(bar);
    },
    pointerup: () => {
      pressed = false;
      later();
    },
    keydown: (event) => {
      if (event.key === "Escape") hide();
    },
  };
  for (const [type, handler] of Object.entries(events)) document.addEventListener(type, handler);
  document.addEventListener("scroll", hide, { capture: true, passive: true });
  return () => {
    clearTimeout(timer);
    for (const [type, handler] of Object.entries(events))
      document.removeEventListener(type, handler);
    document.removeEventListener("scroll", hide, { capture: true });
    bar.remove();
  };
}

// Building elements without ever handling model text as HTML.

import { PATHS } from "./icons.js";

const SVG = "http://www.w3.org/2000/svg";

/** An element: `h("button", {class: "x", "aria-label": "Copy", onclick: f}, child, "text")`. */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A decorative 16 px line icon from icons.js. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/**
 * A button of a turn with an icon only: its name is both its accessible name and its tooltip.
 * It joins the Tab order when its turn does.
 */
export function iconButton(name, label, onclick, props = {}) {
  const basics = { type: "button", class: "act", tabindex: -1, "aria-label": label, title: label };
  return h("button", { ...basics, onclick, ...props }, icon(name));
}

/** A button with words. */
export function textButton(label, onclick, props = {}) {
  return h("button", { type: "button", class: "button", onclick, ...props }, label);
}

/**
 * Replace the children of `box`, and give the focus back to the control with the same
 * `data-key` if one of the old children had it.
 */
export function replaceKeepingFocus(box, ...children) {
  const active = box.getRootNode().activeElement;
  const key = active && box.contains(active) ? active.dataset.key : null;
  box.replaceChildren(...children.flat().filter(Boolean));
  if (key) box.querySelector(`[data-key="${key}"]`)?.focus({ preventScroll: true });
}

/**
 * Make the children of `parent`, from index `from` on, look like `wanted`, touching as few
 * nodes as possible: what did not change keeps its element, selection and scroll position.
 */
export function morphChildren(parent, wanted, from = 0) {
  const fresh = [...wanted];
  fresh.forEach((node, offset) => {
    const old = parent.childNodes[from + offset];
    if (!old) parent.append(node);
    else morph(old, node);
  });
  while (parent.childNodes.length > from + fresh.length) parent.lastChild.remove();
}

function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
  } else if (old.nodeType === Node.TEXT_NODE) {
    // appendData leaves a selection inside the text alone, which setting it would not
    if (fresh.data === old.data) return;
    if (fresh.data.startsWith(old.data)) old.appendData(fresh.data.slice(old.data.length));
    else old.data = fresh.data;
  } else if (old.nodeType === Node.ELEMENT_NODE) {
    // coloured code stays coloured while its words are the same
    if (old.dataset.coloured && old.textContent === fresh.textContent) return;
    for (const { name } of [...old.attributes]) {
      // what the person unfolded stays open
      if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of [...fresh.attributes]) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    morphChildren(old, fresh.childNodes);
  }
}

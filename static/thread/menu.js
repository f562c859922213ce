// Menus and toolbars in the browser's top layer, so that no turn can clip them.

import { h, icon } from "./dom.js";

/** Place a popover below `rect`, or above it where there is no room below. */
export function place(popover, rect, { above = false, align = "start" } = {}) {
  const { offsetWidth: width, offsetHeight: height } = popover;
  const roomBelow = window.innerHeight - rect.bottom;
  const up = above ? rect.top > height + 16 : roomBelow < height + 16 && rect.top > roomBelow;
  const wanted = align === "end" ? rect.right - width : rect.left;
  popover.style.left = `${Math.max(8, Math.min(wanted, window.innerWidth - width - 8))}px`;
  popover.style.top = `${up ? rect.top - height - 6 : rect.bottom + 6}px`;
}

/**
 * Open a menu under a button. Items are `{label, icon?, detail?, run}`; arrows, Home, End and
 * letters move, Escape or a click outside closes, and the focus goes back to the button.
 */
export function openMenu(layer, button, label, items) {
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label, popover: "auto" });
  const close = (refocus) => {
    if (refocus) button.focus({ preventScroll: true });
    menu.hidePopover();
  };
  for (const item of items) {
    menu.append(
      h(
        "button",
        {
          type: "button",
          role: "menuitem",
          tabindex: -1,
          "aria-label": item.name ?? item.label,
          onclick: () => {
            close(true);
            item.run();
          },
        },
        item.icon ? icon(item.icon) : null,
        h("span", { class: "menu-label", text: item.label }),
        item.detail ? h("span", { class: "muted", text: item.detail }) : null,
      ),
    );
  }
  menu.addEventListener("toggle", (event) => {
    if (event.newState === "open") return;
    button.setAttribute("aria-expanded", "false");
    menu.remove();
  });
  menu.addEventListener("keydown", (event) => moveInMenu(event, menu, close));
  layer.append(menu);
  menu.showPopover({ source: button });
  place(menu, button.getBoundingClientRect(), { align: "end" });
  button.setAttribute("aria-expanded", "true");
  menu.firstElementChild?.focus();
}

function moveInMenu(event, menu, close) {
  const items = [...menu.children];
  const now = items.indexOf(menu.getRootNode().activeElement);
  const steps = {
    ArrowDown: (now + 1) % items.length,
    ArrowUp: (now - 1 + items.length) % items.length,
    Home: 0,
    End: items.length - 1,
  };
  event.stopPropagation();
  if (event.key in steps) {
    event.preventDefault();
    items[steps[event.key]].focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    event.preventDefault();
    close(true);
  } else if (event.key.length === 1) {
    const letter = event.key.toLowerCase();
    const later = [...items.slice(now + 1), ...items.slice(0, now + 1)];
    const words = (item) => item.querySelector(".menu-label").textContent.toLowerCase();
    later.find((item) => words(item).startsWith(letter))?.focus();
  }
}

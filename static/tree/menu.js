/* The menu of a row: a popover, so no scrolling parent can cut it off. */

import { element } from './draw.js';

/**
 * Open a menu at (x, y) in the window. items: {label, keys?, hint?, danger?, run} or 'line'.
 * `onClose` runs after the menu has gone. The menu takes the focus.
 */
export function openMenu(root, { label, items, x, y, onClose }) {
  root.querySelector('.menu')?.hidePopover();
  const menu = element('div', 'menu', { role: 'menu', 'aria-label': label, popover: 'auto' });
  for (const item of items) menu.append(item === 'line' ? divider() : menuItem(menu, item));
  root.append(menu);
  menu.onkeydown = (event) => steer(event, menu);
  menu.onbeforetoggle = (event) => {
    if (event.newState === 'closed') queueMicrotask(close);
  };
  const close = () => {
    menu.remove();
    onClose(menu.chosen === true);
  };
  menu.showPopover();
  place(menu, x, y);
  menu.querySelector('button')?.focus({ preventScroll: true });
}

function divider() {
  return element('div', 'divider', { role: 'separator' });
}

function menuItem(menu, { label, keys, hint, danger, run }) {
  const button = element('button', danger ? 'item danger' : 'item', {
    type: 'button',
    role: 'menuitem',
    tabindex: '-1',
    'aria-label': label,
  });
  const text = element('span', 'label');
  text.textContent = label;
  button.append(text);
  if (hint) {
    button.setAttribute('aria-keyshortcuts', keys);
    const kbd = element('kbd', '', { 'aria-hidden': 'true' });
    kbd.textContent = hint;
    button.append(kbd);
  }
  button.onclick = () => {
    menu.chosen = true;
    menu.hidePopover();
    run();
  };
  button.onpointermove = () => button.focus({ preventScroll: true });
  return button;
}

function place(menu, x, y) {
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(x, window.innerWidth - width - 8))}px`;
  const below = y + height + 8 <= window.innerHeight;
  menu.style.top = `${below ? y : Math.max(8, window.innerHeight - height - 8)}px`;
}

function steer(event, menu) {
  event.stopPropagation();
  const buttons = [...menu.querySelectorAll('button')];
  const at = buttons.indexOf(menu.getRootNode().activeElement);
  const to = {
    ArrowDown: (at + 1) % buttons.length,
    ArrowUp: (at - 1 + buttons.length) % buttons.length,
    Home: 0,
    End: buttons.length - 1,
  }[event.key];
  if (to !== undefined) buttons[to].focus({ preventScroll: true });
  else if (event.key === 'Escape' || event.key === 'Tab') menu.hidePopover();
  else return;
  event.preventDefault();
}

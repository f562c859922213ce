/* The keys of a verdict by hand: 1-6 or A-F choose, T is a tie, N goes to the note, Enter saves.
 * Streamlit's own shortcuts know one key a button, none that focuses, and keep C for themselves.
 * It draws nothing and presses the page's own buttons. */

const TYPING = 'input, textarea, select, [contenteditable]';
const PRESSED = 'button, a, summary, [role="button"], [role="radio"], [role="switch"], [role="option"]';
const NOTE = '.st-key-vote_note input';
const heard = new WeakMap();

export default function ({ data, parentElement }) {
  heard.get(parentElement)?.abort();
  const stop = new AbortController();
  heard.set(parentElement, stop);
  document.addEventListener('keydown', (event) => pressed(event, data.count), { signal: stop.signal });
  parentElement.querySelector('span')?.setAttribute('data-keys', data.count);
  return () => stop.abort();
}

function pressed(event, count) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  const at = event.composedPath()[0];
  if (at.matches?.(NOTE)) return inNote(event, at);
  if (event.defaultPrevented || document.querySelector('[role="dialog"]')) return;
  if (at.matches?.(TYPING) || (event.key === 'Enter' && at.closest?.(PRESSED))) return;
  const key = event.key.toLowerCase();
  const place = key.length === 1 ? Math.max('123456'.indexOf(key), 'abcdef'.indexOf(key)) : -1;
  if (place >= 0 && place < count) return press(event, `.st-key-vote_best_${place} button`);
  if (key === 't') return press(event, '.st-key-vote_tie button');
  if (key === 'enter') return press(event, '.st-key-vote_save button');
  if (key === 'n') {
    event.preventDefault();
    document.querySelector(NOTE)?.focus();
  }
}

function inNote(event, note) {
  if (event.key === 'Escape') note.blur();
  // The field gives its words to the page first, with the same key.
  if (event.key === 'Enter') setTimeout(() => document.querySelector('.st-key-vote_save button')?.click());
}

function press(event, selector) {
  const button = document.querySelector(selector);
  if (!button) return;
  event.preventDefault();
  event.stopPropagation();
  button.click();
}

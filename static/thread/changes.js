// What changed since the previous answer: a word diff, with words for the eye and the ear.

import { diffWordsWithSpace } from "../vendor/jsdiff/diff/word.js";
import { diffLines } from "../vendor/jsdiff/diff/line.js";
import { h } from "./dom.js";
import { counted, visible, wordCount } from "./words.js";

const PATIENCE = 400; // ms; the work grows with the square of the differences

/** Pieces `{value, added?, removed?}`: by word, by line where that takes too long, or whole. */
export function compare(before, after) {
  return (
    diffWordsWithSpace(before, after, { timeout: PATIENCE }) ??
    diffLines(before, after, { timeout: PATIENCE }) ?? [
      { value: before, removed: true },
      { value: after, added: true },
    ]
  );
}

/**
 * Neighbouring changes that only blanks keep apart, put together: one phrase struck out and
 * one written read better than every other word.
 */
export function joined(pieces) {
  const result = [];
  let removed = "";
  let added = "";
  const flush = () => {
    if (removed) result.push({ value: removed, removed: true });
    if (added) result.push({ value: added, added: true });
    removed = "";
    added = "";
  };
  pieces.forEach((piece, index) => {
    if (piece.removed) removed += piece.value;
    else if (piece.added) added += piece.value;
    else {
      const next = pieces[index + 1];
      const bridge =
        /^[^\S\n]+$/.test(piece.value) && (removed || added) && (next?.removed || next?.added);
      if (bridge) {
        removed += piece.value;
        added += piece.value;
      } else {
        flush();
        result.push({ value: piece.value });
      }
    }
  });
  flush();
  return result;
}

/** The differences as an element; `before` and `after` are the exact texts. */
export function changes(before, after) {
  const pieces = joined(compare(visible(before), visible(after)));
  const total = (kind) =>
    pieces.filter((piece) => piece[kind]).reduce((sum, piece) => sum + wordCount(piece.value), 0);
  const same = pieces.every((piece) => !piece.added && !piece.removed);
  const summary = same
    ? "Same words as the previous answer"
    : `Since the previous answer: ${counted(total("added"), "word")} added, ${counted(total("removed"), "word")} removed`;
  const text = h("div", { class: "plain", dir: "auto" });
  for (const { value, added, removed } of pieces) {
    text.append(added || removed ? h(added ? "ins" : "del", { text: value }) : value);
  }
  return h(
    "div",
    { class: "changes", role: "group", "aria-label": "Changes since the previous answer" },
    h("div", { class: "note", text: summary }),
    text,
  );
}

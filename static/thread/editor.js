// Editing a turn in place. What was typed is kept in the tab until it is sent, whatever
// happens to the page meanwhile.

import { h, textButton } from "./dom.js";

const key = (id) => `turntree.edit.${id}`;

function readDraft(id) {
  try {
    return JSON.parse(sessionStorage.getItem(key(id)));
  } catch {
    return null;
  }
}

function writeDraft(id, draft) {
  try {
    if (draft) sessionStorage.setItem(key(id), JSON.stringify(draft));
    else sessionStorage.removeItem(key(id));
  } catch {
    // A full or forbidden storage costs only the safety net, not the edit.
  }
}

/** Whether an edit box was open on this turn when the page was last drawn. */
export function wasEditing(id) {
  return readDraft(id)?.open === true;
}

/** The edited text has arrived: another version took this one's place on the page. */
export function forgetEdit(id) {
  writeDraft(id, null);
}

/**
 * An edit box for a turn. `done(text)` is called with the new text on Send, and with null on
 * Cancel; a cancelled text is there again the next time.
 */
export function editor({ id, role, text, files, done }) {
  const draft = readDraft(id);
  const send = role !== "assistant";
  const area = h("textarea", {
    class: "edit-area",
    dir: "auto",
    spellcheck: "true",
    "aria-label": send ? "Edit this turn" : "Edit this answer",
  });
  area.value = draft?.text ?? text;
  const untouched = h("textarea", {});
  untouched.value = text; // the browser normalises line ends; compare like with like

  const finish = (result) => {
    if (result === null)
      writeDraft(id, area.value === untouched.value ? null : { open: false, text: area.value });
    else writeDraft(id, { open: true, text: area.value }); // until it is seen to have arrived
    done(result);
  };
  const empty = () => !area.value.trim() && !(files && send); // files alone are a message too
  const submit = () => {
    if (empty()) return;
    finish(area.value === untouched.value ? text : area.value);
  };
  const primary = textButton(send ? "Send" : "Save as new version", submit, {
    class: "button primary",
    title: "Ctrl+Enter",
  });
  const grow = () => {
    primary.disabled = empty();
    if (area.value.length > 50_000)
      area.style.height = "60vh"; // measuring would be slow
    else {
      area.style.height = "auto";
      area.style.height = `${Math.min(area.scrollHeight + 2, window.innerHeight * 0.6)}px`;
    }
  };
  area.addEventListener("input", () => {
    writeDraft(id, { open: true, text: area.value });
    grow();
  });
  area.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape") {
      event.preventDefault();
      finish(null);
    }
  });
  const note = send
    ? `Sends as a new version${files ? " with the same files" : ""}; the old one stays.`
    : "Kept beside the old answer; no model is asked.";
  const element = h(
    "div",
    { class: "editor" },
    area,
    h(
      "div",
      { class: "editor-bar" },
      h("span", { class: "muted", text: note }),
      textButton("Cancel", () => finish(null)),
      primary,
    ),
  );
  writeDraft(id, { open: true, text: area.value });
  return {
    element,
    focus() {
      grow();
      area.focus({ preventScroll: true });
      area.setSelectionRange(area.value.length, area.value.length);
    },
    grow,
  };
}

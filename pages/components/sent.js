// A button that copies the whole of something: fetched when it is pressed, so that what the
// screen leaves out, and what would be heavy to send along, is copied all the same.

const buttons = new WeakMap();
const WORDS = { idle: "Copy", done: "Copied", failed: "Not copied" };

async function fetched(data) {
  if (data.text !== undefined) return data.text;
  const answer = await fetch(new URL(data.path, document.baseURI), {
    headers: { "x-turntree-token": data.token },
  });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return data.node ? wordsOf((await answer.json()).nodes[0]) : answer.text();
}

/** The words of a message, without its thinking and its files. */
function wordsOf(node) {
  return node.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Copy where the page may not use the clipboard directly. */
function byHand(text) {
  const area = document.createElement("textarea");
  area.style = "position:fixed;opacity:0";
  area.value = text;
  // inside the dialog: what lies outside of it cannot take the focus
  (document.querySelector("[role=dialog]") ?? document.body).append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("the clipboard is closed");
}

async function copy(data) {
  const coming = fetched(data);
  try {
    // A promise, because some browsers let only what was pressed just now write.
    const blob = coming.then((text) => new Blob([text], { type: "text/plain" }));
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
  } catch {
    byHand(await coming);
  }
}

export default function copyButton({ data, parentElement }) {
  let button = buttons.get(parentElement);
  if (!button) {
    button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.append(WORDS.idle);
    const status = document.createElement("span");
    status.className = "sr-only";
    status.setAttribute("role", "status");
    parentElement.append(button, status);
    const say = (words) => {
      button.textContent = words === WORDS.idle ? (button.data.says ?? words) : words;
      status.textContent = words === WORDS.idle ? "" : words;
    };
    let timer = 0;
    button.onclick = async () => {
      clearTimeout(timer);
      try {
        await copy(button.data);
        say(WORDS.done);
      } catch {
        say(WORDS.failed);
      }
      timer = setTimeout(() => say(WORDS.idle), 1500);
    };
    buttons.set(parentElement, button);
  }
  button.data = data;
  if (button.textContent !== WORDS.done) button.textContent = data.says ?? WORDS.idle;
  button.title = data.label;
  button.setAttribute("aria-label", data.label);
}

// The reading element: an answer as the thread draws it, and nothing around it.
//
// Streamlit runs the default export again on every change of data, without a cleanup in
// between, and evaluates this text from a blob, so the modules come by absolute address.

const drawn = new WeakMap();
const AGAIN = 2000; // ms until words that did not come are asked for anew

function modules() {
  const at = (name) => import(new URL(`app/static/thread/${name}`, document.baseURI));
  return Promise.all(["markdown.js", "bodies.js", "words.js", "code.js"].map(at));
}

export default function reading({ data, parentElement }) {
  let slot = drawn.get(parentElement);
  if (!slot) {
    const box = document.createElement("div");
    box.className = "thread reading";
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    parentElement.append(box);
    slot = { box, id: null };
    drawn.set(parentElement, slot);
  }
  slot.box.setAttribute("aria-label", data.label);
  if (slot.id !== data.id) {
    slot.id = data.id;
    slot.box.setAttribute("aria-busy", "true");
    void show(slot, data);
  }
  return () => {
    slot.id = null;
    slot.box.remove();
    drawn.delete(parentElement);
  };
}

async function show(slot, data) {
  const [markdown, bodies, words, code] = await modules();
  try {
    await bodies.loadBodies([data.id], data.token);
  } catch {
    setTimeout(() => slot.id === data.id && show(slot, data), AGAIN);
    return;
  }
  if (slot.id !== data.id) return; // another answer stands here by now
  const text = words.textOf(bodies.body(data.id));
  slot.box.replaceChildren(made(text, markdown));
  slot.box.scrollTop = 0;
  slot.box.removeAttribute("aria-busy");
  code.watchCode(slot.box);
}

function made(text, { LONG, longMessage, render }) {
  if (text.length > LONG) return longMessage(text, { markdown: true, resize: (_, change) => change() });
  const box = document.createElement("div");
  box.className = "md";
  box.append(render(text));
  return box;
}

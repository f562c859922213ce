// The lanes element: hands the data of each rerun to the board that draws it.
//
// Streamlit runs the default export again on every change of data, without a cleanup in
// between, and evaluates this text from a blob, so the modules come by absolute address.

const boards = new WeakMap();

function modules() {
  return import(new URL("app/static/lanes/board.js", document.baseURI));
}

function failed(parent) {
  const note = document.createElement("p");
  note.setAttribute("role", "alert");
  note.textContent = "The lanes could not be drawn. Reload the page to try again.";
  parent.append(note);
}

export default function lanes(component) {
  const parent = component.parentElement;
  let slot = boards.get(parent);
  if (slot) {
    slot.latest = component;
    slot.board?.update(component);
  } else {
    slot = { latest: component, board: null, gone: false };
    boards.set(parent, slot);
    modules().then(
      ({ Board }) => {
        if (slot.gone) return;
        slot.board = new Board(parent);
        slot.board.update(slot.latest);
      },
      () => failed(parent),
    );
  }
  return () => {
    slot.gone = true;
    slot.board?.destroy();
    boards.delete(parent);
  };
}

// The questions about a frame's local storage, as one expression. A frame may have none:
// then reading is refused, which is no failure. What is thrown on a write holds the
// item's name, so that it is not passed on.
(() => {
  const stored = () => {
    const items = [];
    let lost = 0;
    try {
      for (let i = 0; i < localStorage.length; i++) {
        const name = localStorage.key(i);
        const value = localStorage.getItem(name);
        // Half a surrogate pair has no UTF-8.
        if (name.isWellFormed() && value.isWellFormed()) items.push({ name, value });
        else lost++;
      }
    } catch {}
    return { origin: self.origin, items, lost };
  };
  const store = (origin, items) => {
    if (self.origin !== origin) return -1;
    let n = 0;
    try {
      for (const item of items) {
        localStorage.setItem(item.name, item.value);
        n++;
      }
    } catch {}
    return n;
  };

  return { stored, store };
})()

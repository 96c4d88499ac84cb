// The questions that are asked in a page, as one expression. Each method returns what
// JSON can hold. The page's own scripts do not see this world, but they share the
// document, so that nothing here trusts what an element says of itself.
(() => {
  const where = () => ({ url: location.href, title: document.title });
  const ready = () => document.readyState;
  return { where, ready };
})()

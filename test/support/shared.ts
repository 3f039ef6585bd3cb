import { afterAll } from 'vitest'

/**
 * A resource for all rows of a table that leave it unchanged: opened by the first row that needs it, disposed
 * after the last. Called next to the table.
 */
export function shared<T extends AsyncDisposable>(open: () => Promise<T>): () => Promise<T> {
  const opened = new AsyncDisposableStack()
  afterAll(() => opened.disposeAsync())
  let first: Promise<T> | undefined
  return () => (first ??= open().then((one) => opened.use(one)))
}

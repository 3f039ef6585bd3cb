import { afterAll } from 'vitest'

/**
 * One for all rows of a table that leave it as it was: opened for the first that asks, gone after the last.
 * Called where the table stands.
 */
export function shared<T extends AsyncDisposable>(open: () => Promise<T>): () => Promise<T> {
  const opened = new AsyncDisposableStack()
  afterAll(() => opened.disposeAsync())
  let first: Promise<T> | undefined
  return () => (first ??= open().then((one) => opened.use(one)))
}

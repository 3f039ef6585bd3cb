import { StartError } from '../errors.ts'

/**
 * Throws a StartError if something cannot be opened that the server requires.
 * docs/operations.md#what-a-damaged-store-does
 */
export async function openRequired<T>(what: string, opened: Promise<T>): Promise<T> {
  try {
    return await opened
  } catch (cause) {
    throw new StartError(1, `cannot start: ${what} cannot be read`, { cause })
  }
}

import { StartError } from '../errors.ts'

/** Opens what the server cannot run without. docs/operations.md#what-a-damaged-store-does */
export async function openRequired<T>(what: string, opened: Promise<T>): Promise<T> {
  try {
    return await opened
  } catch (cause) {
    throw new StartError(1, `cannot start: ${what} can not be read`, { cause })
  }
}

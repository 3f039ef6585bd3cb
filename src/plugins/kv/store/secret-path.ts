import { Buffer } from 'node:buffer'
import { refuse } from '../../../errors.ts'

const maxPathBytes = 1024

/** Whether a path names a secret: no segment is empty. docs/contract/kv.md#names */
export const isSecretPath = (path: string): boolean =>
  path !== '' && !path.startsWith('/') && !path.endsWith('/') && !path.includes('//')

/** Whether a path names a folder: it is empty, or a path of a secret with a slash at its end. */
export const isFolderPath = (path: string): boolean =>
  path === '' || (path.endsWith('/') && isSecretPath(path.slice(0, -1)))

export function checkSecretPath(path: string): void {
  if (!isSecretPath(path)) throw refuse('invalid', 'path must not contain empty segments')
  const bytes = Buffer.byteLength(path)
  if (bytes > maxPathBytes)
    throw refuse(
      'invalid',
      `put failed due to key being too large; got ${bytes} bytes, max: ${maxPathBytes} bytes`,
    )
}

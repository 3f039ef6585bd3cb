/** A file of an archive, or a folder: without content. */
export type TarEntry = {
  /** Relative, without a slash at its end. */
  readonly path: string
  readonly content?: Uint8Array | undefined
  readonly mode: number
  /** Its user and its group; root without it. */
  readonly owner?: number
}

const blockSize = 512

/** An archive in the form `ustar`, with no times: the same entries give the same bytes. */
export function tarOf(entries: readonly TarEntry[]): Buffer<ArrayBuffer> {
  const parts = entries.flatMap((entry) => [header(entry), ...padded(entry.content ?? new Uint8Array())])
  return Buffer.concat([...parts, Buffer.alloc(2 * blockSize)])
}

function padded(content: Uint8Array): Uint8Array[] {
  return [content, Buffer.alloc(-content.length & (blockSize - 1))]
}

/** POSIX.1-1988, `ustar`. */
function header({ path, content, mode, owner = 0 }: TarEntry): Buffer {
  const name = content === undefined ? `${path}/` : path
  if (Buffer.byteLength(name) > 100) throw new Error(`the path is too long for an archive: ${name}`)
  const block = Buffer.alloc(blockSize)
  const octal = (value: number, at: number, digits: number) =>
    block.write(value.toString(8).padStart(digits, '0'), at)
  block.write(name)
  octal(mode, 100, 7)
  octal(owner, 108, 7)
  octal(owner, 116, 7)
  octal(content?.length ?? 0, 124, 11)
  octal(0, 136, 11)
  block.write(content === undefined ? '5' : '0', 156)
  block.write('ustar\x0000', 257)
  block.fill(' ', 148, 156)
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  )
  block.write('\0 ', 154)
  return block
}

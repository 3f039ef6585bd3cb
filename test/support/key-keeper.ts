import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Encrypts and decrypts like `age`: a key in a file, the message on standard input. */
const program = `
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
const [way, file] = process.argv.slice(2)
const key = scryptSync(readFileSync(file), 'age', 32)
const message = readFileSync(0)
if (way === 'encrypt') {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const body = Buffer.concat([cipher.update(message), cipher.final()])
  process.stdout.write(Buffer.concat([nonce, cipher.getAuthTag(), body]))
} else {
  const decipher = createDecipheriv('aes-256-gcm', key, message.subarray(0, 12))
  decipher.setAuthTag(message.subarray(12, 28))
  process.stdout.write(Buffer.concat([decipher.update(message.subarray(28)), decipher.final()]))
}
`

/** Settings of a seal whose key another program keeps. */
export async function keyKeeper(folder: string) {
  const script = join(folder, 'keeper.mjs')
  const identity = join(folder, 'identity')
  await writeFile(script, program)
  await writeFile(identity, 'a key that only the keeper reads')
  await chmod(identity, 0o600)
  const run = (way: string) => `'${process.execPath}' '${script}' ${way} '${identity}'`
  return { SEAL: 'command', SEAL_WRAP_COMMAND: run('encrypt'), SEAL_UNWRAP_COMMAND: run('decrypt') }
}

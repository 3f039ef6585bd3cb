import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Keeps keys as `age` does: an identity in a file, the message on standard input, a result that is no text. A start of
 * Node for each call would take more time than what the tests look at.
 */
const program = `
way=$1 identity=$2
export LC_ALL=C
case $way in
  encrypt) cat "$identity" && tr 'a-z0-9' '\\341-\\372\\260-\\271' ;;
  decrypt)
    read -r owner
    [ "$owner" = "$(cat "$identity")" ] || { echo 'another identity' >&2; exit 1; }
    tr '\\341-\\372\\260-\\271' 'a-z0-9' ;;
esac
`

/** Settings of a seal whose key another program keeps. */
export async function keyKeeper(folder: string) {
  const script = join(folder, 'keeper.sh')
  const identity = join(folder, 'identity')
  await writeFile(script, program)
  await writeFile(identity, 'a key that only the keeper reads\n')
  await chmod(identity, 0o600)
  const run = (way: string) => `sh '${script}' ${way} '${identity}'`
  return { SEAL: 'command', SEAL_WRAP_COMMAND: run('encrypt'), SEAL_UNWRAP_COMMAND: run('decrypt') }
}

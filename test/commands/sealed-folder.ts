import { readFile } from 'node:fs/promises'
import type { Migration } from '../../src/commands/seal-migrate.ts'
import { startInFolder } from '../support/folder-server.ts'
import { keyKeeper } from '../support/key-keeper.ts'

export type SealType = Migration['to']

/** The settings of all seals. */
export async function sealsOf(folder: string) {
  const { SEAL: _, ...commands } = await keyKeeper(folder)
  return commands
}

export async function sharesIn(file: string): Promise<string> {
  const { keys } = JSON.parse(await readFile(file, 'utf8'))
  return keys.slice(1).join('\n')
}

/** Whether a server with this seal opens the store, and the old root token is good. */
export async function opens(
  folder: string,
  { type, root, shares }: { type: SealType; root: string; shares?: string },
) {
  const settings = { ...(await sealsOf(folder)), SEAL: type }
  await using server = await startInFolder({ folder, settings })
  for (const key of shares?.split('\n') ?? []) await server.anonymous.write('sys/unseal', { key })
  const status = await server.anonymous.read('sys/seal-status')
  const self = await server.as(root).read('auth/token/lookup-self')
  return { type: status.body['type'], sealed: status.body['sealed'], token: self.status }
}

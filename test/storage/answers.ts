import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { type Answer, startWriter, type WriterOptions } from './writing-program.ts'

/**
 * Lets a process write until it ends, or until `isEnough` and it is killed; returns the writes it had
 * acknowledged.
 */
export async function writeUntil(
  path: string,
  isEnough: (answers: readonly Answer[]) => boolean,
  options: WriterOptions = {},
): Promise<Answer[]> {
  await using writer = await startWriter(path, options)
  const answers: Answer[] = []
  for await (const answer of writer.answers) {
    answers.push(answer)
    if (isEnough(answers)) writer.kill()
  }
  return answers
}

/** How the database at `path` contradicts the acknowledged writes; empty if it does not. */
export async function contradictions(path: string, answers: readonly Answer[]): Promise<string[]> {
  await using storage = await openSqlite({ path })
  const keysBelow = async (prefix: string) =>
    new Set((await storage.listKeys(prefix)).map((key) => key.slice(prefix.length)))
  const left = await keysBelow('left/')
  const right = await keysBelow('right/')
  const halves = left.symmetricDifference(right)
  const stored = new Set(answers.filter(({ isStored }) => isStored).map(({ key }) => key))
  const refused = new Set(answers.filter(({ isStored }) => !isStored).map(({ key }) => key))
  const found = {
    'half of a write': halves.size,
    lost: stored.difference(left).size,
    'back after a refusal': refused.intersection(left).size,
  }
  return Object.entries(found).flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]))
}

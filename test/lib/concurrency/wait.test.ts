import { once } from 'node:events'
import { expect, test } from 'vitest'
import { wait } from '../../../src/lib/concurrency/wait.ts'

test('a time that has passed is not waited for, and Node has nothing to warn of', async () => {
  const warned: string[] = []
  const note = ({ name }: Error) => void warned.push(name)
  process.on('warning', note)

  await wait(-3.5, new AbortController().signal)
  // warnings come in order
  process.emitWarning('the last one', 'LastWarning')
  while (!warned.includes('LastWarning')) await once(process, 'warning')

  process.off('warning', note)
  expect(warned).toEqual(['LastWarning'])
})

import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startServerProcess } from '../../simulators/server-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A program that stands in for the server. */
async function aProgram(text: string) {
  const folder = await temporaryFolder()
  const entry = folder.file('entry.mjs')
  await writeFile(entry, text)
  await writeFile(folder.file('root-token'), 'hvs.root')
  return { entry, folder: folder.path, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

test('another process on the expected port is not mistaken for the server', async () => {
  await using program = await aProgram(`
    import { createServer } from 'node:http'
    const answering = (text) => createServer((_, answer) => answer.end(text))
    const [host, port] = process.env.GATEHOUSE_LISTEN.split(':')
    answering('a stranger').listen(Number(port), host, () => {
      const server = answering('the server').listen(0, host, () => {
        console.error(JSON.stringify({ level: 'info', event: 'started', address: 'http://127.0.0.1:' + server.address().port }))
      })
    })
  `)

  await using server = await startServerProcess(program)

  expect(await (await fetch(server.url)).text()).toBe('the server')
})

test('the end of its log is reported if it ends before it has started', async () => {
  await using program = await aProgram(`console.error('no disk')`)

  await expect(startServerProcess(program)).rejects.toThrow('the server did not start:\nno disk')
})

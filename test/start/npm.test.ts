import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'

const project = join(import.meta.dirname, '../..')

const environmentOf = (folder: { file(name: string): string }) => ({
  ...process.env,
  GATEHOUSE_LISTEN: '127.0.0.1:0',
  GATEHOUSE_STORAGE: `sqlite:${folder.file('g.db')}`,
  GATEHOUSE_SEAL_KEY_FILE: folder.file('seal.key'),
})

test('npm start ends on its signal, and a signal to npm alone leaves no server behind', async () => {
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
    await using folder = await temporaryFolder()
    const npm = spawn('npm', ['start'], {
      cwd: project,
      env: environmentOf(folder),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let log = ''
    const listening = Promise.withResolvers<void>()
    npm.stdout.resume()
    npm.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (text.includes('listening on')) listening.resolve()
    })
    const over = once(npm.stderr, 'end')
    await Promise.race([listening.promise, over])

    npm.kill(signal)
    // the pipe ends when the last process that holds it is gone
    await over

    expect(log, signal).toContain('"event":"stopped"')
  }
})

test('a server whose npm ends before the server has started ends too', async () => {
  await using folder = await temporaryFolder()
  const npm = 'sh bin/gatehouse & until ps -o args= -p $! | grep -q ^node; do :; done'
  const child = spawn('sh', ['-c', npm], {
    cwd: project,
    env: { ...environmentOf(folder), npm_lifecycle_event: 'start' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.resume()

  // the pipe ends when the last process that holds it is gone
  const log = (await child.stderr.setEncoding('utf8').toArray()).join('')

  expect(log).toContain('"event":"stopped"')
})

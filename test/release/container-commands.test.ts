import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { imageSettings, settingsOf } from '../deploy/deployed.ts'
import { command, entrypoint, healthCheck, image, writable } from '../deploy/image.ts'
import { running } from '../deploy/running.ts'
import { outcomeOf } from '../deploy/tools.ts'
import { Client } from '../support/client.ts'
import { executable } from '../support/executable.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

// a build of the executable may take a minute on a busy machine
beforeAll(executable, 120_000)

test.skipIf(process.platform !== 'linux')('the image has the libraries of the executable', async () => {
  const { stdout } = await outcomeOf('ldd', [await executable()])
  const needed = [...stdout.matchAll(/^\s*(?:\S*\/)?([\w+-]+)\.so/gm)].map(([, name]) => name)

  const inBase = ['ld-linux-x86-64', 'ld-linux-aarch64', 'linux-vdso', 'libc', 'libdl', 'libgcc_s', 'libm']
  const known = [...inBase, 'libpthread', 'libstdc++']
  expect(needed).toEqual(expect.arrayContaining(['libc', 'libstdc++']))
  expect(needed.filter((name) => name !== undefined && !known.includes(name))).toEqual(['libatomic'])
  expect(image).toContain('\nCOPY --from=build /build/libatomic.so.1 /usr/lib/\n')
})

test('the commands of the image start, check, help and stop a server with its settings', async () => {
  await using folder = await temporaryFolder()
  for (const path of writable) await mkdir(join(folder.path, path), { recursive: true, mode: 0o700 })
  const [file, ...start] = [await executable(), ...entrypoint.slice(1), ...command]
  const [, ...check] = healthCheck
  const here = Object.fromEntries(
    Object.entries(imageSettings).map(([name, value]) => [
      name,
      value.replace(/(^|:)(\/(?:data|run)\/)/, `$1${folder.path}$2`),
    ]),
  )
  const at = (listen: string) => ({
    cwd: join(folder.path, 'data'),
    env: { ...here, GATEHOUSE_LISTEN: listen },
  })
  await using server = running(file, start, at('127.0.0.1:0'))
  await server.prints('"event":"started"')
  const url = new URL(/http:[^"]*/.exec(server.output)?.[0] ?? '')

  const healthy = await outcomeOf(file, check, at(url.host))
  const made = await outcomeOf(file, ['root-token'], at(url.host))
  const token = /^Root token: (\S+)$/m.exec(made.stdout)?.[1] ?? ''
  const self = await new Client(url.origin, token).read('auth/token/lookup-self')
  const limits = await readFile(`/proc/${server.pid}/limits`, 'utf8').catch(() => 'no limits here')
  server.kill('SIGTERM')
  const code = await server.ended
  const unhealthy = await outcomeOf(file, check, at(url.host))

  expect(settingsOf({}).listen).toEqual([{ host: '0.0.0.0', port: 8200 }])
  expect(image).toContain('\nSTOPSIGNAL SIGTERM\n')
  expect(healthy).toMatchObject({ code: 0, output: '{"status":"ready"}\n' })
  expect(self.body.data).toMatchObject({ policies: ['root'] })
  expect((await stat(join(folder.path, 'run/gatehouse/root-token'))).mode & 0o777).toBe(0o600)
  expect(limits).toMatch(/^Max core file size +0 +0 |^no limits here$/m)
  expect([code, unhealthy.code]).toEqual([0, 1])
})

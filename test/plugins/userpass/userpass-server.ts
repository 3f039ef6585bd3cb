import { FakeClock } from '../../support/fake-clock.ts'
import { startTestServer, type TestServerOptions } from '../../support/start-server.ts'

/** A server with a clock of the test, and fresh mounts of the type `userpass`. */
export async function startUserpassServer(options: TestServerOptions = {}) {
  const clock = new FakeClock()
  const server = await startTestServer({ clock, ...options })
  const { root, anonymous } = server
  let mounts = 0
  /** A mount with the user `bob`, whose password is `pw`. */
  const mount = async (user: object = {}) => {
    const path = `auth/up${++mounts}`
    await root.write(`sys/${path}`, { type: 'userpass' })
    await root.write(`${path}/users/bob`, { password: 'pw', ...user })
    const login = (password: unknown = 'pw', name = 'bob', options = {}) =>
      anonymous.write(`${path}/login/${name}`, { password }, options)
    return {
      path,
      login,
      /** The text of a refusal, or `ok`. */
      try: async (password?: unknown, name?: string) => verdictOf(await login(password, name)),
      user: (body: object, name = 'bob') => root.write(`${path}/users/${name}`, body),
      tune: (config: object) => root.write(`sys/${path}/tune`, { user_lockout_config: config }),
      accessor: async () => String((await root.read(`sys/${path}`)).body.data?.accessor),
    }
  }
  return { ...server, clock, mount }
}

export type UserpassMount = Awaited<ReturnType<Awaited<ReturnType<typeof startUserpassServer>>['mount']>>

const verdictOf = ({ status, body }: { status: number; body: { errors?: unknown } }): string =>
  status === 200 ? 'ok' : `${status} ${String(Array.isArray(body.errors) ? body.errors[0] : '')}`

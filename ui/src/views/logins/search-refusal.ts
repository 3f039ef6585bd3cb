import type { QueryClient } from '@tanstack/react-query'
import { ifRefused } from '../../api/errors.ts'
import { loginFailures } from '../../api/logins.ts'
import { shownNamespaces, visibleMounts } from '../../api/server.ts'
import { grantedAt } from '../../shell/capabilities.ts'
import { pathsOfTypes } from '../../shell/mounts.ts'

/** How far a search has come. */
export type Searched = {
  readonly namespaces: number
  readonly mounts: number
  /** `cut`: there are more namespaces. */
  readonly end: 'none' | 'nowhere' | 'cut'
}

/** Where the failure of a request is kept; `below` is empty for the present namespace. */
export type Refused = { readonly below: string; readonly mount: string }

type Asked = {
  readonly id: string
  /** Types of mounts that keep failures. */
  readonly types: readonly string[]
  /** Namespaces below the present one. */
  readonly below: readonly string[]
  /** Whether those are all, at any depth. */
  readonly areAll: boolean
  /** The present namespace. */
  readonly here: string
}

type Watched = { readonly client: QueryClient; readonly signal: AbortSignal; report(state: Searched): void }

/** Mounts that are asked at the same time, so that a search does not take all places of the server. */
const atOnce = 4
const mostNamespaces = 500

/** Looks for the failure of a request in the present namespace and all below it, one after another, the nearest first. */
export async function searchRefusal(
  { id, types, below, areAll, here }: Asked,
  { client, signal, report }: Watched,
): Promise<Refused | undefined> {
  const waiting = ['', ...below]
  let [namespaces, mounts] = [0, 0]
  for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
    if (namespaces === mostNamespaces) {
      report({ namespaces, mounts, end: 'cut' })
      return undefined
    }
    const namespace = [here, at].filter((part) => part !== '').join('/')
    const table = await ifRefused(visibleMounts({}, { namespace, signal }), undefined)
    const asked = await mayAsk(pathsOfTypes(table?.data.auth ?? {}, types), at, { client, signal })
    const mount = await whereRefused(asked, { id, namespace, signal })
    if (mount !== undefined) return { below: at, mount }
    namespaces += 1
    mounts += asked.length
    report({ namespaces, mounts, end: 'none' })
    if (areAll || at === '') continue
    const inside = await ifRefused(shownNamespaces({}, { namespace, signal }), undefined)
    waiting.push(...(inside?.data.keys ?? []).map((key) => `${at}/${key.replace(/\/$/, '')}`))
  }
  report({ namespaces, mounts, end: 'nowhere' })
  return undefined
}

/** The mounts whose failures the token may read. */
async function mayAsk(
  mounts: readonly string[],
  below: string,
  { client, signal }: Pick<Watched, 'client' | 'signal'>,
): Promise<readonly string[]> {
  const pathOf = (mount: string) => `auth/${mount}/failures`
  const granted = await grantedAt(mounts.map(pathOf), { client, signal, below })
  return mounts.filter((mount) => granted[pathOf(mount)]?.some((one) => one === 'read' || one === 'root'))
}

/** The mount that keeps the refused login of a request. */
async function whereRefused(
  mounts: readonly string[],
  { id, ...options }: { readonly id: string; readonly namespace: string; readonly signal: AbortSignal },
): Promise<string | undefined> {
  for (let start = 0; start < mounts.length; start += atOnce) {
    const some = mounts.slice(start, start + atOnce)
    const answers = await Promise.all(
      some.map((mount) =>
        // who may read the list may still lack a right to what it shows
        ifRefused(
          loginFailures({ params: { jwt_mount_path: mount }, query: { request_id: id } }, options),
          undefined,
        ),
      ),
    )
    const at = answers.findIndex((answer) => answer !== undefined && answer.data.failures.length > 0)
    if (at >= 0) return some[at]
  }
  return undefined
}

import * as v from 'valibot'
import { defineCall } from '../../api/client.ts'
import { disableAuth, enableAuth } from '../system/calls.ts'

export const writeCiRole = defineCall('post', '/auth/{jwt_mount_path}/role/{name}', v.unknown())

type Mounted = NonNullable<Parameters<typeof enableAuth>[0]['body']>

/** Enables a login method and sets it up. If that fails, the mount goes again: nothing is half done. */
export async function enableLogin(path: string, body: Mounted, setUp: () => Promise<unknown>): Promise<void> {
  await enableAuth({ params: { path }, body })
  try {
    await setUp()
  } catch (refusal) {
    await disableAuth({ params: { path } })
    throw refusal
  }
}

/** Wraps what the form of a step does: the steps are looked at again afterwards. */
export type StepRun = (
  step: (value: (name: string) => string) => Promise<unknown>,
) => (value: (name: string) => string) => Promise<unknown>

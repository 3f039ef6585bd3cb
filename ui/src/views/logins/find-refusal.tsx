import { type FormEvent, useState } from 'react'
import { ifRefused } from '../../api/errors.ts'
import { loginFailures } from '../../api/logins.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'

const text = strings.logins.find

/** Mounts that are asked at the same time, so that a search does not take all places of the server. */
const atOnce = 4

const failuresOf = (mount: string) => `auth/${mount}/failures`

/** Leads from the id that somebody was told at a refused login to its cause, whichever mount refused it. */
export function FindRefusal({ mounts }: { readonly mounts: readonly string[] }) {
  const { can } = useCapabilities(mounts.map(failuresOf))
  const go = useGo()
  const [id, setId] = useState('')
  const [outcome, setOutcome] = useState<{ readonly error: unknown } | 'nowhere' | 'asking'>()
  const asked = mounts.filter((mount) => can(failuresOf(mount), 'read'))
  if (asked.length === 0) return null
  const find = async (event: FormEvent) => {
    event.preventDefault()
    setOutcome('asking')
    try {
      const mount = await whereRefused(asked, id.trim())
      setOutcome(mount === undefined ? 'nowhere' : undefined)
      if (mount !== undefined) go({ view: 'logins', parts: [mount, 'failures', id.trim()] })
    } catch (error) {
      setOutcome({ error })
    }
  }
  return (
    <search aria-label={text.title}>
      <form className="one-line" onSubmit={(event) => void find(event)} autoComplete="off">
        <Field label={text.label} mono value={id} onChange={setId} isRequired />
        <Button type="submit" isDisabled={outcome === 'asking'}>
          {text.find}
        </Button>
      </form>
      <p className="hint" role="status">
        {outcome === 'asking' && text.asking(asked.length)}
        {outcome === 'nowhere' && text.nowhere(asked.length)}
      </p>
      {typeof outcome === 'object' && <Failure error={outcome.error} />}
    </search>
  )
}

/** The mount that keeps the refused login of a request. */
async function whereRefused(mounts: readonly string[], id: string): Promise<string | undefined> {
  for (let start = 0; start < mounts.length; start += atOnce) {
    const some = mounts.slice(start, start + atOnce)
    const answers = await Promise.all(
      some.map((mount) =>
        // who may read the list may still lack a right to what it shows
        ifRefused(loginFailures({ params: { jwt_mount_path: mount }, query: { request_id: id } }), undefined),
      ),
    )
    const at = answers.findIndex((answer) => answer !== undefined && answer.data.failures.length > 0)
    if (at >= 0) return some[at]
  }
  return undefined
}

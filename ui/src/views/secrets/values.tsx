import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Secret } from '../../components/secret.tsx'
import { visible } from '../../components/visible.ts'
import { strings } from '../../strings.ts'
import type { Values } from './calls.ts'

const text = strings.secrets

/** A value as people read it: a text as it is, anything else as JSON. */
export const shownValue = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)

/** The fields of a secret, masked, one by one or as one JSON object. */
export function ValueList({ values }: { readonly values: Values }) {
  const [isJson, setJson] = useState(false)
  const fields = Object.entries(values)
  if (fields.length === 0) return <p>{text.noFields}</p>
  const shown = isJson ? [[text.allAsJson, values] as const] : fields
  return (
    <>
      <dl className="facts values">
        {shown.map(([name, value]) => (
          <div key={name}>
            <dt className="mono">{visible(name)}</dt>
            <dd>
              <Secret value={shownValue(value)} label={name} />
            </dd>
          </div>
        ))}
      </dl>
      <div className="actions">
        <Button kind="quiet" onPress={() => setJson(!isJson)}>
          {isJson ? text.showFields : text.showJson}
        </Button>
      </div>
    </>
  )
}

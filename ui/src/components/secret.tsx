import { useEffect, useState } from 'react'
import { strings } from '../strings.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy-as.tsx'
import { visible } from './visible.ts'

const shownMs = 30_000

/** A secret: masked until asked for, and again 30 seconds later. While it is masked, it is not in the document. */
export function Secret({ value, label }: { readonly value: string; readonly label: string }) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    if (!isShown) return
    const timer = setTimeout(() => setShown(false), shownMs)
    return () => clearTimeout(timer)
  }, [isShown])
  return (
    <span className="secret">
      {isShown ? (
        <code>{visible(value)}</code>
      ) : (
        <span>
          <span aria-hidden="true">••••••••</span>
          <span className="hidden">{strings.masked}</span>
        </span>
      )}
      <Button
        kind="quiet"
        aria-label={`${isShown ? strings.hide : strings.show} ${visible(label)}`}
        onPress={() => setShown(!isShown)}
      >
        {isShown ? strings.hide : strings.show}
      </Button>
      <CopyButton text={value} of={visible(label)} />
    </span>
  )
}

"use strict";

// A question whose answer the reader types before looking. Without this file it is a folded answer, and stays one.
(() => {
    // The number that somebody typed, or NaN: 1024, 1,024, 1 024, 1_024, 1'024, 12.5, 12,5, 98 %.
    function typedNumber(text, unit) {
        let bare = text.trim().toLowerCase();
        if (unit && bare.endsWith(unit.toLowerCase())) {
            bare = bare.slice(0, -unit.length);
        }
        bare = bare.replace(/%$/, "").replace(/[\s_'’]/g, "");
        if (/^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(bare)) {
            bare = bare.replace(/,/g, "");
        } else {
            bare = bare.replace(",", ".");
        }
        return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(bare) ? Number(bare) : NaN;
    }

    function element(name, attributes, text) {
        const made = document.createElement(name);
        for (const [key, value] of Object.entries(attributes)) {
            made.setAttribute(key, value);
        }
        made.textContent = text || "";
        return made;
    }

    for (const box of document.querySelectorAll(".predict[data-answer]")) {
        const answer = Number(box.dataset.answer);
        const within = Number(box.dataset.within);
        const unit = box.dataset.unit;
        const details = box.querySelector("details");
        const input = element("input", { id: `${box.id}-number`, inputmode: "decimal", autocomplete: "off", "aria-describedby": `${box.id}-question` });
        const form = element("form", {});
        form.append(element("label", { for: input.id }, "Your prediction:"), input);
        if (unit) {
            form.append(element("span", {}, unit));
        }
        form.append(element("button", { type: "submit" }, "Check"));
        const said = element("div", { class: "said", role: "status", "aria-live": "polite" });
        details.before(form, said);

        form.addEventListener("submit", event => {
            event.preventDefault();
            const number = typedNumber(input.value, unit);
            const right = Math.abs(number - answer) <= within;
            said.classList.toggle("right", right);
            said.replaceChildren();
            if (Number.isNaN(number)) {
                said.textContent = "A number is wanted, such as 1,024 or 12.5.";
            } else if (right) {
                said.textContent = "Right. The explanation is open below.";
                details.open = true;
            } else {
                const replies = [...box.querySelectorAll(".reply")];
                const reply = replies.find(reply => Number(reply.dataset.value) === number);
                if (reply) {
                    said.append(...[...reply.childNodes].map(node => node.cloneNode(true)));
                } else {
                    said.textContent = "Not that. Try another number, or open the answer.";
                }
                input.select();
            }
        });
    }
})();

Dear {{ member.name | title }},
{% if loans %}
please bring back:
{% for loan in loans %}
- {{ loan.title }}{% if loan.late %} (late!){% end %}

{% end %}
{% else %}
you have nothing of ours.
{% end %}
